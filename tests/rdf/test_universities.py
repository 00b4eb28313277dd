"""The made-up universities have the published cardinalities, and are the same every time."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from tidelog import rdf
from tidelog.rdf.lubm import FACULTY, NAMESPACE
from tidelog.rdf.terms import TYPE

DEPARTMENTS = 2


def word(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


@pytest.fixture(scope="module")
def triples() -> list[tuple[str, str, str]]:
    return rdf.triples(rdf.universities(1, departments=(DEPARTMENTS, DEPARTMENTS)))


@pytest.fixture(scope="module")
def types(triples: list[tuple[str, str, str]]) -> Counter[str]:
    return Counter(o.removeprefix(f"<{NAMESPACE}").removesuffix(">") for _, p, o in triples if p == TYPE)


def per_subject(triples: list[tuple[str, str, str]], name: str) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for s, p, o in triples:
        if p == word(name):
            found[s].append(o)
    return found


def of_kind(triples: list[tuple[str, str, str]], *kinds: str) -> set[str]:
    wanted = {word(kind) for kind in kinds}
    return {s for s, p, o in triples if p == TYPE and o in wanted}


def test_every_triple_occurs_once(triples: list[tuple[str, str, str]]) -> None:
    assert len(set(triples)) == len(triples)


def test_there_are_as_many_of_a_kind_as_published(types: Counter[str]) -> None:
    assert types["Department"] == DEPARTMENTS
    assert 10 * DEPARTMENTS <= types["ResearchGroup"] <= 20 * DEPARTMENTS
    for kind, ((low, high), _) in FACULTY.items():
        assert low * DEPARTMENTS <= types[kind] <= high * DEPARTMENTS
    faculty = sum(types[kind] for kind in FACULTY)
    assert 8 * faculty - DEPARTMENTS <= types["UndergraduateStudent"] <= 14 * faculty
    assert 3 * faculty - DEPARTMENTS <= types["GraduateStudent"] <= 4 * faculty
    assert faculty <= types["Course"] <= 2 * faculty
    assert faculty <= types["GraduateCourse"] <= 2 * faculty
    graduates = types["GraduateStudent"]
    assert graduates / 5 - DEPARTMENTS <= types["TeachingAssistant"] <= graduates / 4
    assert graduates / 4 - DEPARTMENTS <= types["ResearchAssistant"] <= graduates / 3


def test_each_has_as_much_as_published(triples: list[tuple[str, str, str]]) -> None:
    faculty = of_kind(triples, *FACULTY)
    professors = faculty - of_kind(triples, "Lecturer")
    takes, advisor = per_subject(triples, "takesCourse"), per_subject(triples, "advisor")
    for student in of_kind(triples, "UndergraduateStudent"):
        assert 2 <= len(takes[student]) <= 4
    for student in of_kind(triples, "GraduateStudent"):
        assert 1 <= len(takes[student]) <= 3
        assert len(advisor[student]) == 1
        assert set(advisor[student]) <= professors
    for name in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
        degrees = per_subject(triples, name)
        assert all(len(degrees[person]) == 1 for person in faculty)
    taught = per_subject(triples, "teacherOf")
    assert all(2 <= len(taught[person]) <= 4 for person in faculty)
    assert len(per_subject(triples, "headOf")) == DEPARTMENTS
    assert all(authors for authors in per_subject(triples, "publicationAuthor").values())


def test_assistants_have_courses_of_their_own(triples: list[tuple[str, str, str]]) -> None:
    assisted = [o for courses in per_subject(triples, "teachingAssistantOf").values() for o in courses]
    assert len(set(assisted)) == len(assisted)


def test_a_university_is_the_same_among_others() -> None:
    alone = set(rdf.triples(rdf.universities(1, departments=(1, 1))))
    among = set(rdf.triples(rdf.universities(2, departments=(1, 1))))
    assert alone < among
    assert not alone <= set(rdf.triples(rdf.universities(1, seed=1, departments=(1, 1))))


def test_a_university_has_about_a_hundred_thousand_triples() -> None:
    small = len(rdf.universities(1, departments=(1, 1)))
    assert 5_000 < small < 9_000  # of which 15 to 25 make a university


def test_the_ontology_knows_every_word(triples: list[tuple[str, str, str]]) -> None:
    known = {s for s, _, _ in rdf.triples(rdf.university_ontology())}
    used = {p for _, p, _ in triples} | {o for _, p, o in triples if p == TYPE}
    assert used - {TYPE} <= known
