"""Universities as triples, with the cardinalities of the Lehigh University Benchmark.

What a department has is drawn from the ranges that the benchmark's generator publishes: 15 to 25 departments
in a university, 7 to 10 full professors in a department, 8 to 14 undergraduates for each of the faculty, and
so on. Left out is what no rule looks at: names, addresses, telephone numbers, research interests. The schema
has what the ontology says of the classes and properties in use: subclasses, subproperties, domains, ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

__all__ = ["DOMAIN", "RANGE", "SUBCLASS", "SUBPROPERTY", "TYPE", "Triple", "schema", "universities"]

Triple = tuple[str, str, str]

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = (
    f"<{_RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain", "range")
)

CLASSES = """
    FullProfessor Professor  AssociateProfessor Professor  AssistantProfessor Professor  Chair Professor
    Professor Faculty  Lecturer Faculty  Faculty Employee  Employee Person  Student Person
    GraduateStudent Person  UndergraduateStudent Student  TeachingAssistant Person
    ResearchAssistant Person  GraduateCourse Course  Course Work  University Organization
    Department Organization  ResearchGroup Organization  Article Publication
""".split()
PROPERTIES = """
    headOf worksFor  worksFor memberOf  undergraduateDegreeFrom degreeFrom
    mastersDegreeFrom degreeFrom  doctoralDegreeFrom degreeFrom
""".split()
DOMAINS = """
    advisor Person  degreeFrom Person  teacherOf Faculty  publicationAuthor Publication
    teachingAssistantOf TeachingAssistant  member Organization
""".split()
RANGES = """
    advisor Professor  degreeFrom University  teacherOf Course  publicationAuthor Person
    teachingAssistantOf Course  subOrganizationOf Organization  member Person
""".split()

# (class, how many in a department, publications of each)
FACULTY = (
    ("FullProfessor", (7, 10), (15, 20)),
    ("AssociateProfessor", (10, 14), (10, 18)),
    ("AssistantProfessor", (8, 11), (5, 10)),
    ("Lecturer", (5, 7), (0, 5)),
)
UNIVERSITIES_KNOWN = 1000


def universities(count: int, seed: int = 0, departments: tuple[int, int] = (15, 25)) -> list[Triple]:
    """The schema and so many universities; all distinct."""
    rng = Random(seed)
    triples = dict.fromkeys(schema())
    for u in range(count):
        university = f"<u{u}>"
        triples[university, TYPE, _term("University")] = None
        for d in range(rng.randint(*departments)):
            triples.update(dict.fromkeys(_department(rng, university, f"u{u}/d{d}")))
    return list(triples)


def schema() -> Iterator[Triple]:
    for predicate, pairs in (
        (SUBCLASS, CLASSES),
        (SUBPROPERTY, PROPERTIES),
        (DOMAIN, DOMAINS),
        (RANGE, RANGES),
    ):
        for subject, object_ in zip(pairs[::2], pairs[1::2], strict=True):
            yield _term(subject), predicate, _term(object_)


def _department(rng: Random, university: str, name: str) -> Iterator[Triple]:
    department = f"<{name}>"
    yield department, TYPE, _term("Department")
    yield department, _term("subOrganizationOf"), university
    for g in range(rng.randint(10, 20)):
        yield f"<{name}/group{g}>", TYPE, _term("ResearchGroup")
        yield f"<{name}/group{g}>", _term("subOrganizationOf"), department
    faculty: list[str] = []
    courses: list[str] = []
    graduate_courses: list[str] = []
    for kind, number, papers in FACULTY:
        for i in range(rng.randint(*number)):
            person = f"<{name}/{kind}{i}>"
            faculty.append(person)
            yield from _employee(rng, person, kind, department)
            yield from _teaching(rng, person, name, courses, "Course")
            yield from _teaching(rng, person, name, graduate_courses, "GraduateCourse")
            yield from _papers(person, rng.randint(*papers))
    yield faculty[0], _term("headOf"), department
    yield from _undergraduates(rng, name, department, faculty, courses)
    yield from _graduates(rng, name, department, faculty, graduate_courses, courses)


def _employee(rng: Random, person: str, kind: str, department: str) -> Iterator[Triple]:
    yield person, TYPE, _term(kind)
    yield person, _term("worksFor"), department
    for degree in ("undergraduate", "masters", "doctoral"):
        yield person, _term(f"{degree}DegreeFrom"), _some_university(rng)


def _teaching(rng: Random, person: str, name: str, courses: list[str], kind: str) -> Iterator[Triple]:
    for _ in range(rng.randint(1, 2)):
        course = f"<{name}/{kind}{len(courses)}>"
        courses.append(course)
        yield course, TYPE, _term(kind)
        yield person, _term("teacherOf"), course


def _papers(author: str, number: int) -> Iterator[Triple]:
    for i in range(number):
        paper = f"{author[:-1]}/Publication{i}>"
        yield paper, TYPE, _term("Publication")
        yield paper, _term("publicationAuthor"), author


def _undergraduates(
    rng: Random, name: str, department: str, faculty: list[str], courses: list[str]
) -> Iterator[Triple]:
    for i in range(len(faculty) * rng.randint(8, 14)):
        student = f"<{name}/UndergraduateStudent{i}>"
        yield student, TYPE, _term("UndergraduateStudent")
        yield student, _term("memberOf"), department
        yield from _takes(student, rng.sample(courses, rng.randint(2, 4)))
        if rng.random() < 1 / 5:
            yield student, _term("advisor"), rng.choice(faculty)


def _graduates(
    rng: Random,
    name: str,
    department: str,
    faculty: list[str],
    graduate_courses: list[str],
    courses: list[str],
) -> Iterator[Triple]:
    for i in range(len(faculty) * rng.randint(3, 4)):
        student = f"<{name}/GraduateStudent{i}>"
        yield student, TYPE, _term("GraduateStudent")
        yield student, _term("memberOf"), department
        yield student, _term("undergraduateDegreeFrom"), _some_university(rng)
        yield student, _term("advisor"), rng.choice(faculty)
        yield from _takes(student, rng.sample(graduate_courses, rng.randint(1, 3)))
        if rng.random() < 1 / 4.5:
            yield student, _term("teachingAssistantOf"), rng.choice(courses)
        elif rng.random() < 1 / 3.5:
            yield student, TYPE, _term("ResearchAssistant")


def _takes(student: str, courses: Iterable[str]) -> Iterator[Triple]:
    for course in courses:
        yield student, _term("takesCourse"), course


def _some_university(rng: Random) -> str:
    return f"<u{rng.randrange(UNIVERSITIES_KNOWN)}>"


def _term(name: str) -> str:
    return f"<univ-bench.owl#{name}>"
