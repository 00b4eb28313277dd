"""Generates universities as triples, after the Lehigh University Benchmark (LUBM).

All quantities are random within the ranges that the benchmark publishes: 15 to 25 departments in a
university, 7 to 10 full professors in a department, 8 to 14 undergraduates for each faculty member, and so
on. A department has about 6,800 triples. Names follow the benchmark too. Each university depends only on the
seed and its own number, so it is the same however many are generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from random import Random
from typing import Any, Final

import pyarrow as pa

from tidelog.formats.triples import TERMS, parse_triples
from tidelog.rdf.terms import TYPE

__all__ = ["FACULTY", "NAMESPACE", "universities", "university_ontology"]

NAMESPACE: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_ONTOLOGY: Final = "university.ttl"
# kind: number in a department, and publications of each
FACULTY: Final = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
_KNOWN: Final = 1000  # number of universities that degrees can be from
_INTERESTS: Final = 30


def university_ontology() -> Any:
    """The benchmark's ontology, as a graph."""
    content = files("tidelog.rdf").joinpath(_ONTOLOGY).read_bytes()
    return parse_triples(content, _ONTOLOGY, extension=".ttl")


def universities(count: int, seed: int = 0, departments: tuple[int, int] = (15, 25)) -> Any:
    """The graph of `count` universities, without the ontology; `departments` is the range for each."""
    typed: dict[str, None] = {}
    parts = [_University(number, seed, departments, typed).table() for number in range(count)]
    known = _Columns()
    for university in typed:
        known.add(university, TYPE, _word("University"))
    return pa.concat_tables([*parts, known.table()])


def _word(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


def _university(number: int) -> str:
    return f"<http://www.University{number}.edu>"


_NAME, _EMAIL, _TELEPHONE = map(_word, ("name", "emailAddress", "telephone"))
_WORKS, _HEAD, _MEMBER, _PART = map(_word, ("worksFor", "headOf", "memberOf", "subOrganizationOf"))
_TEACHES, _TAKES, _ASSISTS = map(_word, ("teacherOf", "takesCourse", "teachingAssistantOf"))
_ADVISOR, _AUTHOR, _INTEREST = map(_word, ("advisor", "publicationAuthor", "researchInterest"))
_FIRST_DEGREE = _word("undergraduateDegreeFrom")
_DEGREES = (_FIRST_DEGREE, _word("mastersDegreeFrom"), _word("doctoralDegreeFrom"))


class _Columns:
    """A table under construction."""

    def __init__(self) -> None:
        self._columns: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._append = tuple(column.append for column in self._columns)

    def add(self, s: str, p: str, o: str) -> None:
        subject, predicate, object_ = self._append
        subject(s)
        predicate(p)
        object_(o)

    def table(self) -> Any:
        return pa.Table.from_arrays([pa.array(c, pa.string()) for c in self._columns], schema=TERMS)


class _University:
    """One university; the universities that it mentions are added to `typed`."""

    def __init__(self, number: int, seed: int, departments: tuple[int, int], typed: dict[str, None]) -> None:
        self.rng = Random(f"{seed}/{number}")
        self.number = number
        self.typed = typed
        self.columns = _Columns()
        self.add = self.columns.add
        self.term = _university(number)
        typed[self.term] = None
        self.add(self.term, _NAME, f'"University{number}"')
        for department in range(self.rng.randint(*departments)):
            _Department(self, department).fill()

    def table(self) -> Any:
        return self.columns.table()

    def degree(self, person: str, degree: str) -> None:
        university = _university(self.rng.randrange(_KNOWN))
        self.typed[university] = None
        self.add(person, degree, university)


class _Department:
    def __init__(self, university: _University, number: int) -> None:
        self.university = university
        self.rng = university.rng
        self.add = university.add
        self.host = f"Department{number}.University{university.number}.edu"
        self.term = f"<http://www.{self.host}>"
        self.number = number
        self.professors: list[str] = []
        self.faculty = 0
        self.courses: list[str] = []
        self.graduate_courses: list[str] = []
        self.papers: list[str] = []

    def fill(self) -> None:
        self._named(self.term, "Department", f"Department{self.number}")
        self.add(self.term, _PART, self.university.term)
        for group in range(self.rng.randint(10, 20)):
            term = self._inside(f"ResearchGroup{group}")
            self.add(term, TYPE, _word("ResearchGroup"))
            self.add(term, _PART, self.term)
        for kind, (number, papers) in FACULTY.items():
            for i in range(self.rng.randint(*number)):
                self._faculty(kind, i, papers)
        self.add(self.professors[0], _HEAD, self.term)
        self._undergraduates()
        self._graduates()

    # -- faculty

    def _faculty(self, kind: str, number: int, papers: tuple[int, int]) -> None:
        person = self._person(kind, number)
        self.faculty += 1
        self.add(person, _WORKS, self.term)
        for degree in _DEGREES:
            self.university.degree(person, degree)
        if kind != "Lecturer":
            self.professors.append(person)
            self.add(person, _INTEREST, f'"Research{self.rng.randrange(_INTERESTS)}"')
        self._teaches(person, "Course", self.courses)
        self._teaches(person, "GraduateCourse", self.graduate_courses)
        for i in range(self.rng.randint(*papers)):
            paper = f"{person[:-1]}/Publication{i}>"
            self.papers.append(paper)
            self._named(paper, "Publication", f"Publication{i}")
            self.add(paper, _AUTHOR, person)

    def _teaches(self, person: str, kind: str, courses: list[str]) -> None:
        for _ in range(self.rng.randint(1, 2)):
            name = f"{kind}{len(courses)}"
            course = self._inside(name)
            courses.append(course)
            self._named(course, kind, name)
            self.add(person, _TEACHES, course)

    # -- students

    def _undergraduates(self) -> None:
        for i in range(self._per_faculty(8, 14)):
            student = self._student("UndergraduateStudent", i)
            self._takes(student, self.rng.sample(self.courses, self.rng.randint(2, 4)))
            if self.rng.random() < 1 / 5:
                self.add(student, _ADVISOR, self.rng.choice(self.professors))

    def _graduates(self) -> None:
        students = [self._student("GraduateStudent", i) for i in range(self._per_faculty(3, 4))]
        for student in students:
            self.university.degree(student, _FIRST_DEGREE)
            self.add(student, _ADVISOR, self.rng.choice(self.professors))
            self._takes(student, self.rng.sample(self.graduate_courses, self.rng.randint(1, 3)))
            for paper in self.rng.sample(self.papers, self.rng.randint(0, 5)):
                self.add(paper, _AUTHOR, student)
        self.rng.shuffle(students)
        assistants = self._share(students, 1 / 5, 1 / 4)[: len(self.courses)]
        for student, course in zip(assistants, self.rng.sample(self.courses, len(assistants)), strict=True):
            self.add(student, TYPE, _word("TeachingAssistant"))
            self.add(student, _ASSISTS, course)
        for student in self._share(students[::-1], 1 / 4, 1 / 3):
            self.add(student, TYPE, _word("ResearchAssistant"))

    def _student(self, kind: str, number: int) -> str:
        student = self._person(kind, number)
        self.add(student, _MEMBER, self.term)
        return student

    def _takes(self, student: str, courses: Iterable[str]) -> None:
        for course in courses:
            self.add(student, _TAKES, course)

    def _per_faculty(self, low: int, high: int) -> int:
        return int(self.faculty * self.rng.uniform(low, high))

    def _share(self, students: Sequence[str], low: float, high: float) -> Sequence[str]:
        return students[: int(len(students) * self.rng.uniform(low, high))]

    # -- names

    def _inside(self, name: str) -> str:
        return f"<http://www.{self.host}/{name}>"

    def _named(self, term: str, kind: str, name: str) -> None:
        self.add(term, TYPE, _word(kind))
        self.add(term, _NAME, f'"{name}"')

    def _person(self, kind: str, number: int) -> str:
        name = f"{kind}{number}"
        person = self._inside(name)
        self._named(person, kind, name)
        self.add(person, _EMAIL, f'"{name}@{self.host}"')
        self.add(person, _TELEPHONE, '"xxx-xxx-xxxx"')
        return person
