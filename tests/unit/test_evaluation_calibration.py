"""The gate learns from a person's questions: more where they prove it, thresholds alone else."""

from __future__ import annotations

import json
import math
import os
import random
import stat
from pathlib import Path

import pytest
from evaluation_fakes import Answer, FakeEngine

from sidelight.errors import QueriesError, UsageError
from sidelight.evaluation.calibration import calibrate, report, save
from sidelight.evaluation.gate_fit import Observation, fit_gate, logit
from sidelight.evaluation.topics import Topic
from sidelight.types import Mode


def observations(
    n: int, generator: random.Random, *, shipped: float, extra: float
) -> list[Observation]:
    """Half answerable; how far apart the two kinds lie in each feature, in spreads."""
    made = []
    for i in range(n):
        sign = 0.5 if i % 2 else -0.5
        features = {
            "shipped": sign * shipped + generator.gauss(0, 1),
            "coverage": sign * extra + generator.gauss(0, 1),
            "noise": generator.gauss(0, 1),
        }
        made.append(Observation(features, bool(i % 2)))
    return made


def test_a_feature_that_tells_is_learnt() -> None:
    generator = random.Random(1)
    gate = fit_gate(observations(200, generator, shipped=0.5, extra=3.0))
    assert gate.weights["coverage"] > 1
    assert abs(gate.weights["noise"]) < 0.5
    fresh = report(gate, observations(400, generator, shipped=0.5, extra=3.0))
    assert fresh.auc is not None
    assert fresh.auc > 0.95


def test_questions_that_prove_nothing_leave_the_shipped_gate_as_it_is() -> None:
    generator = random.Random(2)
    gate = fit_gate(observations(40, generator, shipped=3.0, extra=0.0))
    # the order of the shipped gate is kept: its weight dominates all others
    assert gate.weights["shipped"] > 0.7
    assert abs(gate.weights["noise"]) < 0.3


@pytest.mark.parametrize("seed", range(5))
def test_balanced_keeps_about_95_of_100_new_answerable_questions(seed: int) -> None:
    generator = random.Random(seed)
    gate = fit_gate(observations(120, generator, shipped=1.5, extra=1.5))
    fresh = report(gate, observations(2000, generator, shipped=1.5, extra=1.5))
    assert fresh.recall is not None
    assert 0.88 <= fresh.recall <= 1.0
    assert fresh.refused is not None
    assert fresh.refused > 0.3


def test_stricter_thresholds_are_higher() -> None:
    gate = fit_gate(observations(200, random.Random(4), shipped=1.0, extra=1.0))
    thresholds = gate.thresholds
    assert 0 < thresholds["lenient"] <= thresholds["balanced"] <= thresholds["strict"] < 1
    assert thresholds["lenient"] < thresholds["strict"]


def test_few_questions_move_the_thresholds_alone() -> None:
    few = [Observation({"shipped": logit(c), "x": 9.0}, c > 0.5) for c in (0.1, 0.2, 0.7, 0.9)]
    gate = fit_gate(few)
    assert gate.weights == {"shipped": 1.0}
    assert 0.2 < gate.thresholds["balanced"] < 0.7
    assert gate.confidence({"shipped": logit(0.7)}) == pytest.approx(0.7)


def test_separable_questions_do_not_blow_up() -> None:
    clear = [Observation({"x": 10.0 if i % 2 else -10.0}, bool(i % 2)) for i in range(60)]
    gate = fit_gate(clear)
    assert all(math.isfinite(w) for w in gate.weights.values())
    assert report(gate, clear).recall == 1
    assert report(gate, clear).refused == 1


def test_without_an_answerable_question_there_is_nothing_to_fit() -> None:
    with pytest.raises(UsageError, match="answerable"):
        fit_gate([Observation({"x": 1.0}, False)])


def engine_of(folder: Path, topics: list[Topic]) -> FakeEngine:
    generator = random.Random(5)
    answers = {}
    for topic in topics:
        confidence = min(max(generator.gauss(0.7 if topic.answerable else 0.3, 0.1), 0.01), 0.99)
        answers[topic.query] = Answer(
            channels={"bm25": [], "metadata": [], "vector": []},
            confidence=confidence,
            ok=confidence > 0.8,
            features={"coverage": confidence * 2},
        )
    return FakeEngine(folder, answers)


def questions(answerable: int, unanswerable: int) -> list[Topic]:
    yes = [Topic(f"y{i}", f"问题{i}", "zh", "q", True, frozenset({"a"})) for i in range(answerable)]
    no = [Topic(f"n{i}", f"none {i}", "en", "no", False, frozenset()) for i in range(unanswerable)]
    return yes + no


def test_calibration_is_written_in_the_form_that_the_gate_reads(tmp_path: Path) -> None:
    topics = questions(30, 15)
    made = calibrate(engine_of(tmp_path, topics), topics, model="model-1")
    file = tmp_path / "config" / "calibration.json"
    save(file, made)
    stored = json.loads(file.read_text("utf-8"))
    assert (stored["format"], stored["model"]) == (1, "model-1")
    assert stored["questions"] == {"answerable": 30, "unanswerable": 15}
    gate = stored["gates"]["bm25+metadata+vector"]
    assert set(gate["thresholds"]) == {"lenient", "balanced", "strict"}
    assert set(gate["weights"]) == {"coverage", "shipped"}
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_held_out_questions_are_reported_and_not_fitted_on(tmp_path: Path) -> None:
    topics = questions(40, 20)
    made = calibrate(engine_of(tmp_path, topics), topics, model="m", holdout=0.5)
    assert (made.fitted_on.answerable, made.fitted_on.unanswerable) == (20, 10)
    assert made.held_out is not None
    assert (made.held_out.answerable, made.held_out.unanswerable) == (20, 10)
    assert made.held_out.recall is not None
    assert made.held_out.recall >= 0.9
    assert made.before.recall is not None
    assert made.before.recall < 0.5  # the gate as it was refused most


def test_every_way_of_asking_is_observed(tmp_path: Path) -> None:
    topics = questions(5, 2)
    engine = engine_of(tmp_path, topics)
    made = calibrate(engine, topics, model="m")
    assert {request.mode for request in engine.asked} == {
        Mode.HYBRID,
        Mode.LEXICAL,
        Mode.SEMANTIC,
    }
    assert made.notes  # too few to fit: the person is told


def test_a_wrong_share_to_hold_out_is_refused(tmp_path: Path) -> None:
    topics = questions(3, 2)
    with pytest.raises(UsageError, match="between 0 and 1"):
        calibrate(engine_of(tmp_path, topics), topics, model="m", holdout=1.0)


@pytest.mark.parametrize(("answerable", "holdout"), [(0, 0.0), (1, 0.0), (4, 0.0), (8, 0.5)])
def test_too_few_questions_open_no_gate(tmp_path: Path, answerable: int, holdout: float) -> None:
    topics = questions(answerable, 5)
    engine = engine_of(tmp_path, topics)
    with pytest.raises(QueriesError, match="Too few answerable questions to fit on"):
        calibrate(engine, topics, model="m", holdout=holdout)
    assert not engine.asked  # nothing is asked in vain
