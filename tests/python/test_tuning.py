"""Tuning: estoc.tune, and the records of it."""

import numpy as np
import pytest

import estoc

PROBLEM = "gemm m=8 n=8 k=8 a=f32"
QUICK = {"budget": 0.1, "rounds": 2}


@pytest.fixture(autouse=True)
def records(tmp_path, monkeypatch):
    monkeypatch.setenv("ESTOC_TUNED", str(tmp_path / "tuned.db"))
    yield tmp_path / "tuned.db"
    monkeypatch.setenv("ESTOC_TUNED", str(tmp_path / "none.db"))
    estoc.tuned(cpu_args())  # what was read is forgotten


def cpu_args():
    return estoc.parse_problem(PROBLEM)


def test_a_search_is_remembered(records):
    args = cpu_args()
    assert estoc.get_kernels(args)[0].tuned_seconds is None
    seen = []
    record = estoc.tune(args, **QUICK, progress=lambda stage, part: seen.append((stage, part)))
    assert {stage for stage, _ in seen} == {"compiling", "timing", "checking"}
    assert all(0 <= part <= 1 for _, part in seen)
    assert record.kernel == "cpu_gemm-f32-f32-f32-f32" and record.seconds > 0
    assert record.knobs == {"raster": "m", "swizzle": 1, "split": 1, "split_tiles": 0, "zigzag": False}
    assert (record.cc, record.driver, record.library) == (0, "", estoc.__version__)
    first = estoc.get_kernels(args)[0]
    assert first.tuned_seconds == record.seconds and first.predicted_seconds > 0
    assert [each.kernel for each in estoc.tuned()] == [record.kernel]
    assert [each.seconds for each in estoc.tuned(args)] == [record.seconds]
    assert estoc.tuned_path() == str(records)
    assert repr(record).startswith("TunedKernel(kernel='cpu_gemm")
    again = estoc.tune(args, **QUICK)
    assert again.seconds == record.seconds
    assert estoc.forget_tuned(args) == 1
    assert estoc.tuned() == estoc.tuned(args) == []


def test_arguments_with_data_are_not_touched():
    a, b = np.ones((4, 3), np.float32), np.ones((3, 5), np.float32)
    out = np.full((4, 5), 7, np.float32)
    args = estoc.GemmArguments(a, b, out)
    estoc.tune(args, **QUICK)
    assert (out == 7).all() and (a == 1).all()
    assert estoc.get_kernels(args)[0].tuned_seconds


def test_records_go_to_other_files(tmp_path, monkeypatch):
    estoc.tune(cpu_args(), **QUICK)
    file = tmp_path / "out.json"
    estoc.export_tuned(file)
    assert estoc.import_tuned(str(file)) == (0, 0, 1)
    monkeypatch.setenv("ESTOC_TUNED", str(tmp_path / "other.db"))
    assert estoc.import_tuned(file) == (1, 0, 0)


def test_a_search_is_cancelled_and_passes_on_what_progress_raises():
    with pytest.raises(estoc.CancelledError):
        estoc.tune(cpu_args(), **QUICK, progress=lambda stage, part: stage != "timing")
    with pytest.raises(ZeroDivisionError):
        estoc.tune(cpu_args(), **QUICK, progress=lambda stage, part: 1 / 0)
    assert estoc.tuned() == []


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="budget"):
        estoc.tune(cpu_args(), budget=0)
    with pytest.raises(estoc.NotFoundError, match="nobody"):
        estoc.tune(cpu_args(), **QUICK, providers=["nobody"])
    with pytest.raises(TypeError):
        estoc.tune(7)
    with pytest.raises(ValueError, match="column"):
        estoc.tune("gemm m=")
    monkeypatch.setenv("ESTOC_TUNED", "off")
    with pytest.raises(OSError, match="ESTOC_TUNED is off"):
        estoc.tune(cpu_args(), **QUICK)
    assert estoc.tuned_path() == ""


def test_store_false_remembers_nothing():
    assert estoc.tune(cpu_args(), **QUICK, store=False).seconds > 0
    assert estoc.tuned() == []


def test_matmul_is_tuned_in_the_background():
    a, other = np.eye(40, dtype="f4"), np.eye(41, dtype="f4")
    with estoc.BackgroundTuner(budget=0.1, top=2) as tuner:
        estoc.matmul(other, other)
        tuner.wait()
        assert (tuner.tuned, tuner.waiting) == (0, 0)  # of a call without a tuner
        assert (estoc.matmul(a, a, tuner=tuner) == a).all()
        tuner.add(estoc.parse_problem("gemm m=9 n=8 k=8 a=f32"))
        tuner.wait()
        assert (tuner.tuned, tuner.failed, tuner.last_failure) == (2, 0, "")
        assert len(estoc.tuned()) == 2
        # A plan that is remembered meets nothing.
        estoc.matmul(a, a, tuner=tuner)
        tuner.wait()
        assert tuner.tuned == 2
    with pytest.raises(ValueError, match="tuner: expected one that is open"):
        tuner.wait()
    with pytest.raises(ValueError, match="tuner: expected one that is open"):
        estoc.matmul(a, a, tuner=tuner)


def test_a_tuner_ends_with_its_search():
    tuner = estoc.BackgroundTuner(budget=1000)
    tuner.add(estoc.parse_problem("gemm m=512 n=512 k=512 a=f32"))
    del tuner
    assert estoc.tuned() == []


def test_a_tuner_refuses_what_it_is_not():
    a = np.eye(8, dtype="f4")
    with pytest.raises(TypeError, match="tuner: expected a BackgroundTuner, got 7"):
        estoc.matmul(a, a, tuner=7)
    with pytest.raises(ValueError, match="budget_seconds: expected more than 0, got -1"):
        estoc.BackgroundTuner(budget=-1)
    with pytest.raises(ValueError, match="top, limit"):
        estoc.BackgroundTuner(top=-1)
