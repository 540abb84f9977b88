"""The doctor names what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread

import psutil
import pytest
from tiny_models import write_model

from sidelight.config import PROTOCOL, places_for
from sidelight.doctor import as_json, diagnose, render, worst
from sidelight.doctor.surroundings import file_system, synced_by
from sidelight.errors import IndexUnavailableError
from sidelight.indexing import facts
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.types import Finding, IndexState, NoteState, Problem, Progress

pytestmark = pytest.mark.usefixtures("isolated_home")


class Index:
    """An open index of fixed figures."""

    def __init__(self, pending: int = 0, failed: Sequence[NoteState] = ()) -> None:
        self.pending = pending
        self.failed = failed

    def status(self) -> tuple[IndexState, Progress]:
        return IndexState("s", 2, 5, 4, self.pending), Progress("words", 1, 2)

    problem = ""

    def failed_notes(self) -> Sequence[NoteState]:
        return self.failed


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "我的 vault"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n", encoding="utf-8")
    (folder / "拿铁.md").write_text("26 元\n", encoding="utf-8")
    return folder.resolve()


def only(findings: Sequence[Finding], check: str) -> Finding:
    matching = [finding for finding in findings if finding.check == check]
    assert len(matching) == 1, [f"{f.check}: {f.finding}" for f in findings]
    return matching[0]


def check_says(finding: Finding, severity: str, *parts: str) -> None:
    assert finding.severity == severity, finding
    for part in parts:
        assert part in finding.finding + " " + finding.remedy, finding
    if severity in ("warning", "error"):
        assert finding.remedy, finding


def test_a_sound_vault_has_no_warnings_but_the_missing_model(vault: Path) -> None:
    findings = diagnose(vault, index=Index())
    assert [f.check for f in findings if f.severity in ("warning", "error")] == ["model-files"]
    check_says(only(findings, "vault"), "ok", "2 notes")
    check_says(only(findings, "index"), "ok", "2 notes", "5 passages", "4")
    check_says(only(findings, "failed-notes"), "ok")
    check_says(only(findings, "model-files"), "warning", "words alone", "sidelight model build")
    check_says(only(findings, "daemon"), "info", "sidelight serve")
    check_says(only(findings, "calibration"), "info", "sidelight calibrate")


@pytest.mark.parametrize("name", ["missing", "不在", "a.md"])
def test_a_vault_that_is_missing_or_a_file_is_an_error_beside_the_other_checks(
    vault: Path, name: str
) -> None:
    findings = diagnose(vault / name)
    what = "is a file" if name == "a.md" else "no folder"
    check_says(only(findings, "vault"), "error", what, name, "notes is not checked")
    assert {f.check for f in findings} >= {"settings", "index", "data-folder", "daemon", "log"}
    check_says(only(findings, "index"), "info", "no index of it")
    assert worst(findings) == "error"


def test_a_vault_that_is_away_keeps_its_index_and_its_place(vault: Path) -> None:
    data = places_for(vault).data
    (data / "index.lance").mkdir(parents=True)
    away = vault.with_name("vault 移走了")
    vault.rename(away)
    findings = diagnose(vault)
    check_says(only(findings, "vault"), "error", str(vault), "connect its drive")
    check_says(only(findings, "index"), "info", str(data), "waits for the vault")
    away.rename(vault)
    assert only(diagnose(vault), "vault").severity == "ok"


def test_a_pause_is_named_with_who_ends_it(vault: Path) -> None:
    places = places_for(vault)
    places.data.mkdir(parents=True)
    places.paused.touch()
    check_says(only(diagnose(vault, index=Index(3)), "index"), "info", "paused", "sidelight index")


def made_with(vault: Path, **values: str) -> None:
    data = places_for(vault).data
    (data / "index.lance").mkdir(parents=True, exist_ok=True)
    current = facts.current_facts(Terms(("生椰拿铁", "kiln wash")))
    places = places_for(vault)
    places.settings.parent.mkdir(parents=True, exist_ok=True)
    places.settings.write_text('{"user_words": ["生椰拿铁", "kiln wash"]}', encoding="utf-8")
    (data / "facts.json").write_text(json.dumps({**current, **values}), encoding="utf-8")


def test_what_the_index_was_made_with_is_told(vault: Path) -> None:
    assert not [f for f in diagnose(vault) if f.check == "made-with"], "there is no index"
    made_with(vault, vectors="e5-1")
    terms = facts.current_facts(Terms(("生椰拿铁", "kiln wash")))["terms"]
    check_says(only(diagnose(vault), "made-with"), "ok", "schema 1", terms, "model e5-1")


@pytest.mark.parametrize(
    ("fact", "name", "rebuilt"),
    [
        ("schema", "schema old", "tables are begun anew"),
        ("drafts", "chunker old", "cut otherwise are embedded"),
        ("terms", "tokenizer with your own words old", "every note is read again"),
    ],
)
def test_what_differs_from_what_it_was_made_with_is_named(
    vault: Path, fact: str, name: str, rebuilt: str
) -> None:
    made_with(vault, **{fact: "old"})
    found = only(diagnose(vault), "made-with")
    now = facts.current_facts(Terms(("生椰拿铁", "kiln wash")))[fact]
    check_says(found, "info", f"{name} instead of {now}", rebuilt, "sidelight index")
    assert found.finding.count("instead of") == 1


def test_another_model_is_named(vault: Path, tmp_path: Path) -> None:
    model = Embedder.load(write_model(tmp_path / "模型", pooling="mean"))
    made_with(vault, vectors="e5-1")
    found = only(diagnose(vault, embedder=model), "made-with")
    check_says(found, "info", f"model e5-1 instead of {model.vectors_id}", "embedded again")
    made_with(vault, vectors=model.vectors_id)
    check_says(only(diagnose(vault, embedder=model), "made-with"), "ok", model.vectors_id)


def write_writer(of: Path, **values: object) -> None:
    data = places_for(of).data
    data.mkdir(parents=True, exist_ok=True)
    parent = psutil.Process(os.getppid())
    content = {
        "pid": parent.pid,
        "started_at": parent.create_time(),
        "computer": platform.node(),
        "vault": str(of),
        **values,
    }
    (data / "writer.json").write_text(json.dumps(content), encoding="utf-8")


def test_who_writes_the_index_is_told(vault: Path) -> None:
    write_writer(vault)
    pid = str(os.getppid())
    check_says(only(diagnose(vault), "writer"), "warning", pid, "XDG_RUNTIME_DIR")
    write_discovery(vault)
    check_says(only(diagnose(vault), "writer"), "ok", pid)
    write_writer(vault, vault="/elsewhere/另一个库")
    check_says(only(diagnose(vault), "writer"), "error", "另一个库", pid, "--data-dir")
    write_writer(vault, computer="laptop-二")
    check_says(only(diagnose(vault), "writer"), "warning", "laptop-二", "--data-dir")


@pytest.mark.parametrize("values", [{"pid": 2**22 + 1}, {"started_at": 5.0}, {"pid": "x"}])
def test_a_writer_that_ended_is_not_told(vault: Path, values: dict[str, object]) -> None:
    write_writer(vault, **values)
    assert not [f for f in diagnose(vault) if f.check == "writer"]


def test_the_size_of_the_vault_is_told_for_models_that_read_all_of_it(vault: Path) -> None:
    check_says(only(diagnose(vault), "size"), "info", "about 4 tokens", "pack VAULT --all")
    (vault / "长.md").write_text("窑" * 200_000, encoding="utf-8")
    check_says(only(diagnose(vault), "size"), "ok", "200,004 tokens", "too many")


def test_an_empty_vault_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    check_says(only(diagnose(tmp_path / "empty"), "vault"), "warning", "no notes")


def test_notes_that_read_only_in_part_are_counted_by_what_is_wrong(vault: Path) -> None:
    (vault / "坏.md").write_text("---\na: [\n---\nx\n", encoding="utf-8")
    (vault / "b.md").write_text("```\nnever closed\n", encoding="utf-8")
    found = only(diagnose(vault), "note-problems")
    check_says(found, "info", "yaml-invalid in 1 (such as 坏.md)", "b.md", "sidelight inspect")


def test_links_that_lead_nowhere_are_named_once_each(vault: Path) -> None:
    (vault / "链.md").write_text("[[a]] [[没有]] [[p.png]] [[没有|再]]", encoding="utf-8")
    (vault / "b.md").write_text("[[没有]] [[gone]]", encoding="utf-8")
    (vault / "p.png").write_bytes(b"")
    found = only(diagnose(vault), "unresolved-links")
    check_says(found, "info", "2 link targets", "没有 (in ", "gone (in b.md)")
    assert "p.png" not in found.finding


@pytest.mark.skipif(sys.platform == "win32", reason="needs symlinks")
def test_what_cannot_be_listed_and_rules_not_understood_have_their_remedies(vault: Path) -> None:
    (vault / "断.md").symlink_to(vault / "none.md")
    (vault / "dir").symlink_to(vault.parent, target_is_directory=True)
    (vault / ".sidelightignore").write_bytes(b"\xff")
    findings = diagnose(vault)
    told = [f for f in findings if f.check == "vault"]
    assert {f.severity for f in told} == {"warning"}
    assert any("断.md" in f.finding and "Repair" in f.remedy for f in told)
    assert any("dir" in f.finding and "followed_links" in f.remedy for f in told)
    check_says(only(findings, "exclusions"), "warning", ".sidelightignore", "excludes nothing")


def test_large_and_excluded_notes_are_told(vault: Path) -> None:
    places = places_for(vault)
    places.settings.parent.mkdir(parents=True)
    places.settings.write_text(
        json.dumps({"max_note_bytes": 1000, "excluded": ["private/"]}), encoding="utf-8"
    )
    (vault / "长.md").write_text("字" * 1000, encoding="utf-8")
    (vault / "private").mkdir()
    (vault / "private" / "x.md").write_text("secret", encoding="utf-8")
    findings = diagnose(vault)
    check_says(only(findings, "large-notes"), "warning", "1 note is", "长.md", "max_note_bytes")
    check_says(only(findings, "exclusions"), "info", "1 note is excluded")
    assert "secret" not in render(findings)


def test_broken_settings_are_an_error_and_the_other_checks_go_on(vault: Path) -> None:
    places = places_for(vault)
    places.settings.parent.mkdir(parents=True)
    places.settings.write_text("{", encoding="utf-8")
    findings = diagnose(vault)
    check_says(only(findings, "settings"), "error", str(places.settings))
    assert only(findings, "log")
    assert worst(findings) == "error"


def test_a_rule_that_is_not_understood_is_told(vault: Path) -> None:
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text("{", encoding="utf-8")
    check_says(only(diagnose(vault), "exclusions"), "warning", "app.json")


def test_a_note_that_cannot_be_read_is_named(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("sidelight.doctor.contents.read_note_bytes", refuse)
    found = only(diagnose(vault), "unreadable-notes")
    check_says(found, "warning", "2 notes", "a.md (Permission denied)")


@pytest.mark.parametrize("name", ["a.md", "拿铁.md"])
def test_files_from_the_future_are_told(vault: Path, name: str) -> None:
    assert not [f for f in diagnose(vault, index=Index()) if f.check == "clock"]
    later = time.time() + 3 * 86_400
    os.utime(vault / name, (later, later))
    check_says(only(diagnose(vault, index=Index()), "clock"), "warning", name, "date")


def test_copies_of_a_sync_conflict_are_told(vault: Path) -> None:
    (vault / "a.sync-conflict-20240131-101500-ABCDEFG.md").write_text("x", encoding="utf-8")
    check_says(only(diagnose(vault), "sync-conflicts"), "info", "1 note looks")


def test_the_state_of_the_index_is_told(vault: Path) -> None:
    check_says(only(diagnose(vault), "index"), "warning", "not indexed yet", "sidelight index")
    waiting = only(diagnose(vault, index=Index(pending=3)), "index")
    check_says(waiting, "info", "3 wait (words)", "sidelight index")
    broken = IndexUnavailableError("The index was made by a newer Sidelight.", "Rebuild it.")
    check_says(only(diagnose(vault, index_error=broken), "index"), "error", "newer", "Rebuild it.")


def test_a_vault_that_is_waited_for_and_one_that_is_scanned_are_told(vault: Path) -> None:
    index = Index()
    index.problem = "OS file watch limit reached."
    check_says(only(diagnose(vault, index=index), "watching"), "warning", "limit", "every 30 s")
    index.status = lambda: (IndexState("s", 2, 5, 4, 1), Progress("waiting", 0, 0))
    index.problem = "The index cannot be written (No space left on device)."
    check_says(only(diagnose(vault, index=index), "index"), "error", "No space left", "by itself")
    assert "No space left" not in str(only(diagnose(vault, index=index), "watching"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's list of mounts")
def test_an_index_on_a_network_drive_is_told(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "x / ext4 rw 0 0\nserver:/网盘 /mnt/nas nfs4 rw 0 0\n"
    texts = {"/proc/mounts": mounts, "/proc/sys/fs/inotify/max_user_watches": "9999999\n"}
    monkeypatch.setattr("sidelight.doctor.surroundings._read", texts.__getitem__)
    found = only(diagnose(vault, data_dir="/mnt/nas/index"), "data-folder")
    check_says(found, "warning", "network drive", "--data-dir")


def test_notes_that_failed_are_named_with_their_reason_and_only_a_few(vault: Path) -> None:
    failed = [NoteState(f"坏{i}.md", False, 0, 0, None, "is binary", (), None) for i in range(9)]
    failed.append(NoteState("half.md", True, 1, 1, "h", None, (Problem("x", "y"),), 1.0))
    found = only(diagnose(vault, index=Index(failed=failed)), "failed-notes")
    check_says(found, "warning", "9 notes are", "坏0.md (is binary)", "and 4 more")


def test_an_index_inside_the_vault_is_an_error(vault: Path) -> None:
    check_says(only(diagnose(vault, data_dir=vault / "x"), "data-folder"), "error", "inside")


def test_a_data_folder_that_cannot_be_written_is_told(
    vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = tmp_path / "索引 data"
    data.mkdir()
    monkeypatch.setattr("sidelight.doctor.surroundings.os.access", lambda *_: False)
    found = only(diagnose(vault, data_dir=data), "data-folder")
    check_says(found, "error", str(data), "cannot be written", "permissions")


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("/home/a/Dropbox/data", "Dropbox"),
        ("/Users/a/Library/Mobile Documents/x", "iCloud Drive"),
        ("/Users/a/Library/CloudStorage/GoogleDrive-a/x", "a cloud drive"),
        ("/c/Users/a/OneDrive - 公司/x", "OneDrive"),
        ("/home/a/.local/share/sidelight", ""),
        ("/home/dropboxer/data", ""),
    ],
)
def test_synced_folders_are_known_by_name(path: str, service: str) -> None:
    assert synced_by(Path(path)) == service


def test_the_file_system_is_that_of_the_deepest_mount() -> None:
    mounts = "/dev/a / ext4 rw 0 0\nserver:/n /mnt/my\\040notes nfs4 rw 0 0\n"
    assert file_system(Path("/mnt/my notes/vault"), mounts) == "nfs4"
    assert file_system(Path("/home/a"), mounts) == "ext4"
    assert file_system(Path("/home/a"), "") == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's")
def test_the_watch_limit_and_network_drives_are_told(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"/proc/mounts": "x / ext4 rw 0 0\n", "/proc/sys/fs/inotify/max_user_watches": "1\n"}
    monkeypatch.setattr("sidelight.doctor.surroundings._read", texts.__getitem__)
    check_says(only(diagnose(vault), "watching"), "warning", "max_user_watches")
    texts["/proc/mounts"] = "server:/x / nfs4 rw 0 0\n"
    check_says(only(diagnose(vault), "watching"), "info", "nfs4", "every 30 s", "poll_seconds")


@pytest.mark.parametrize(("free", "severity"), [(50_000_000, "error"), (500_000_000, "warning")])
def test_a_full_disk_is_told(
    vault: Path, monkeypatch: pytest.MonkeyPatch, free: int, severity: str
) -> None:
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("sidelight.doctor.surroundings.shutil.disk_usage", lambda _: usage)
    check_says(only(diagnose(vault), "disk-space"), severity, "GB")


def write_discovery(vault: Path, **values: object) -> None:
    file = places_for(vault).discovery
    file.parent.mkdir(parents=True, exist_ok=True)
    version = metadata.version("sidelight")
    content = {"pid": os.getppid(), "port": 9, "token": "t", "version": version, **values}
    file.write_text(json.dumps(content), encoding="utf-8")


def test_a_file_that_a_dead_daemon_left_is_told(vault: Path) -> None:
    write_discovery(vault, pid=2**22 + 1)
    check_says(only(diagnose(vault), "daemon"), "info", "left its file behind")


def test_a_daemon_that_does_not_answer_is_told(vault: Path) -> None:
    write_discovery(vault)
    check_says(only(diagnose(vault), "daemon"), "warning", "does not answer")


class Health(BaseHTTPRequestHandler):
    """Answers `/health` as the bridge does."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"name": "sidelight", "protocol": PROTOCOL}).encode())

    def log_message(self, *_: object) -> None:
        """Stays quiet."""


def test_a_running_daemon_is_told_with_its_version(vault: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Health) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        write_discovery(vault, port=server.server_port)
        running = only(diagnose(vault), "daemon")
        write_discovery(vault, port=server.server_port, version="0.0.1")
        older = only(diagnose(vault), "daemon")
        server.shutdown()
    check_says(running, "ok", str(server.server_port))
    check_says(older, "warning", "0.0.1", "Stop it")
    assert '"t"' not in render([running, older])  # the token is never shown


def test_origins_for_development_are_told(vault: Path) -> None:
    found = only(diagnose(vault, allowed_origins=["http://localhost:5173"]), "origins")
    check_says(found, "warning", "http://localhost:5173", "--allow-origin")


def write_calibration(vault: Path, text: str) -> None:
    file = places_for(vault).calibration
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_the_calibration_is_told(vault: Path) -> None:
    gate = {
        "bias": 0.0,
        "weights": {},
        "thresholds": {"lenient": 0.3, "balanced": 0.43, "strict": 0.5},
    }
    content = {
        "format": 1,
        "model": "",
        "fitted_at": 1_700_000_000.0,
        "questions": {"answerable": 30, "unanswerable": 10},
        "gates": {"bm25+metadata": gate},
    }
    write_calibration(vault, json.dumps(content))
    found = only(diagnose(vault), "calibration")
    check_says(found, "ok", "40 questions", "2023-11-14", "bm25+metadata 0.430")


@pytest.mark.parametrize("text", ["{", "[]", '{"gates": {"x": {}}}', "null"])
def test_a_calibration_that_cannot_be_used_is_told(vault: Path, text: str) -> None:
    write_calibration(vault, text)
    found = only(diagnose(vault), "calibration")
    check_says(found, "warning", "cannot be used", "sidelight calibrate")


def test_a_gate_that_is_off_is_told(vault: Path) -> None:
    places = places_for(vault)
    places.settings.parent.mkdir(parents=True)
    places.settings.write_text('{"gate_strictness": "off"}', encoding="utf-8")
    check_says(only(diagnose(vault), "calibration"), "info", "off")


def test_nothing_is_written(vault: Path, isolated_home: Path) -> None:
    def everything() -> set[Path]:
        return {*vault.rglob("*"), *isolated_home.rglob("*")}

    before = everything()
    diagnose(vault, index=Index())
    assert everything() == before


def test_json_and_text_say_the_same(vault: Path) -> None:
    findings = diagnose(vault, index=Index())
    listed = as_json(findings)["findings"]
    assert [row["check"] for row in listed] == [f.check for f in findings]
    assert set(listed[0]) == {"check", "severity", "finding", "remedy"}
    text = render(findings)
    assert all(f.finding in text and f.remedy in text for f in findings)
    assert text.endswith("0 errors, 1 warning, 3 to know")
    assert worst(findings) == "warning"
    assert worst([]) == "ok"
