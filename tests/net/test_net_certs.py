"""`congenial certs`: what is there stays, what is missing is added, and nothing is replaced unless asked for."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from congenial.cli import main
from congenial.kernel.errors import ConfigError
from congenial.net import authority, certs
from congenial.net.certs import make_certificates
from congenial.net.config import Tls


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def refusal(names: str | list[str], folder: Path, **how: bool) -> str:
    before = contents(folder) if folder.is_dir() else {}
    with pytest.raises(ConfigError) as error:
        make_certificates(names, folder, **how)
    assert (contents(folder) if folder.is_dir() else {}) == before
    assert "\n" not in str(error.value)
    return str(error.value)


def usable(folder: Path, name: str) -> None:
    Tls(str(folder / "ca.pem"), str(folder / "{name}.pem"), str(folder / "{name}.key")).contexts(name)
    certificate(folder / f"{name}.pem").verify_directly_issued_by(certificate(folder / "ca.pem"))


def test_a_second_run_keeps_everything_and_adds_what_is_missing(tmp_path: Path) -> None:
    first = make_certificates("ab", tmp_path)
    assert sorted(path.name for path in first.made) == ["a.key", "a.pem", "b.key", "b.pem", "ca.key", "ca.pem"]
    before = contents(tmp_path)
    again = make_certificates("ab", tmp_path)
    assert (again.made, again.replaced) == ([], [])
    assert sorted(path.name for path in again.kept) == sorted(before)
    assert contents(tmp_path) == before
    more = make_certificates(["d"], tmp_path)
    assert [path.name for path in more.made] == ["d.key", "d.pem"]
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    for name in "abd":
        usable(tmp_path, name)


def test_keys_are_for_their_owner_only_and_nothing_else_is_left(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        make_certificates("a", tmp_path / "certs")
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "certs").iterdir()}
    assert modes == {"ca.key": 0o600, "a.key": 0o600, "ca.pem": 0o644, "a.pem": 0o644}


def test_force_replaces_the_named_nodes_and_says_so(tmp_path: Path) -> None:
    make_certificates("ab", tmp_path)
    before = contents(tmp_path)
    done = make_certificates("a", tmp_path, force=True)
    assert [path.name for path in done.replaced] == ["a.key", "a.pem"]
    after = contents(tmp_path)
    assert sorted(name for name in after if after[name] != before[name]) == ["a.key", "a.pem"]
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    usable(tmp_path, "a")


def test_a_new_authority_replaces_everything(tmp_path: Path) -> None:
    make_certificates("ab", tmp_path)
    before = contents(tmp_path)
    assert "has an authority already; force=True replaces it" in refusal("ab", tmp_path, new_authority=True)
    assert "b" in refusal("a", tmp_path, force=True, new_authority=True)  # b's certificate would be worth nothing
    done = make_certificates("ab", tmp_path, force=True, new_authority=True)
    assert len(done.replaced) == 6
    after = contents(tmp_path)
    assert all(after[name] != before[name] for name in before)
    usable(tmp_path, "b")


def test_without_the_authoritys_key_nothing_can_be_added(tmp_path: Path) -> None:
    make_certificates("ab", tmp_path)
    (tmp_path / "ca.key").unlink()  # it is kept elsewhere
    assert make_certificates("ab", tmp_path).made == []
    text = refusal("abc", tmp_path)
    assert "ca.pem is there without its key" in text
    assert str(tmp_path / "ca.key") in text


def test_a_run_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    make_certificates("ab", tmp_path)
    key = (tmp_path / "b.key").read_bytes()
    (tmp_path / "b.pem").unlink()
    assert [path.name for path in make_certificates("ab", tmp_path).made] == ["b.pem"]
    assert (tmp_path / "b.key").read_bytes() == key
    usable(tmp_path, "b")
    (tmp_path / "ca.pem").unlink()
    assert [path.name for path in make_certificates("ab", tmp_path).made] == ["ca.pem"]
    usable(tmp_path, "a")


def test_files_that_do_not_fit_together_are_named(tmp_path: Path) -> None:
    make_certificates("ab", tmp_path)
    make_certificates("ab", tmp_path / "other")
    whole = contents(tmp_path)

    def broken(**files: bytes | None) -> str:
        for name, content in {**whole, **{key.replace("_", "."): value for key, value in files.items()}}.items():
            (tmp_path / name).unlink(missing_ok=True)
            if content is not None:
                (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError) as error:
            make_certificates("abc", tmp_path)
        assert not (tmp_path / "c.pem").exists()
        return str(error.value)

    other = contents(tmp_path / "other")
    assert "a.pem is there without its key" in broken(a_key=None)
    assert broken(a_key=None).endswith("put the key there; or force=True for 'a' makes both again")
    assert "a.key is not the key of" in broken(a_key=other["a.key"])
    assert "a.pem was not issued by" in broken(a_key=other["a.key"], a_pem=other["a.pem"])
    assert "a.pem is for b, not for a" in broken(a_key=whole["b.key"], a_pem=whole["b.pem"])
    assert "a.pem is not a certificate" in broken(a_pem=b"")
    assert "a.key is not a private key" in broken(a_key=b"-----BEGIN")
    assert "ca.key is not the key of" in broken(ca_key=other["ca.key"])
    assert "ca.pem is not a certificate" in broken(ca_pem=b"x")
    assert "ca.pem is not the certificate of an authority" in broken(ca_pem=whole["a.pem"], ca_key=whole["a.key"])
    secret = load_pem_private_key(whole["ca.key"], None)
    locked = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"1234"))
    assert "ca.key is not a private key that can be read" in broken(ca_key=locked)
    rsa = generate_rsa(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert "ca.key" in broken(ca_key=rsa)
    assert "there is no authority in" in broken(ca_pem=None, ca_key=None)


def test_certificates_that_end_are_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    with monkeypatch.context() as then:
        then.setattr(authority, "VALID", timedelta(days=10))
        make_certificates("a", tmp_path)
    with monkeypatch.context() as then:
        then.setattr(authority, "VALID", timedelta(hours=-1))
        make_certificates("b", tmp_path)
    done = make_certificates("abc", tmp_path)
    day = f"{now + timedelta(days=10):%Y-%m-%d}"
    notes = " | ".join(done.notes)
    assert f"ca.pem ends on {day}" in notes
    assert f"a.pem ends on {day}" in notes
    assert "b.pem has ended on" in notes
    # a node's certificate is worth nothing after its authority's
    assert certificate(tmp_path / "c.pem").not_valid_after_utc <= certificate(tmp_path / "ca.pem").not_valid_after_utc
    old = tmp_path / "old"
    with monkeypatch.context() as then:
        then.setattr(authority, "VALID", timedelta(hours=-1))
        then.setattr(authority, "has_ended", lambda _: False)
        make_certificates("a", old)
    assert "ca.pem has ended on" in refusal("ab", old)
    (old / "a.key").chmod(0o644)
    assert any("a.key can be read by other users" in note for note in make_certificates("a", old).notes)


def test_names_that_cannot_be_certified_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert "'ca' is the name of the authority" in refusal(["ca"], folder)
    assert "node name" in refusal(["../a"], folder)
    assert "node name" in refusal([""], folder)
    assert "node name 5" in refusal([5], folder)  # type: ignore[list-item]
    assert "names must be" in refusal(5, folder)  # type: ignore[arg-type]
    assert "ASCII" in refusal(["ä"], folder)
    assert "no nodes" in refusal([], folder)
    assert not folder.exists()
    assert len(make_certificates(["a", "a"], folder).made) == 4


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    assert "/proc/x" in refusal("a", Path("/proc/x"))
    assert str(file) in refusal("a", file)
    assert str(file) in refusal("a", file / "below")
    assert file.read_text() == "precious"
    (tmp_path / "certs" / "ca.pem").mkdir(parents=True)
    assert "ca.pem" in refusal("a", tmp_path / "certs")
    with pytest.raises(ConfigError, match="folder = 5"):
        make_certificates("a", 5)  # type: ignore[arg-type]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_certificates("a", tmp_path)
    before = contents(tmp_path)
    calls = iter(range(100))
    write = os.write

    def full(file: int, data: bytes) -> int:
        if next(calls) >= 3:
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(certs.os, "write", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        make_certificates("ab", tmp_path, force=True, new_authority=True)
    assert contents(tmp_path) == before


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["certs", *words])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    # addresses beyond this machine need certificates, which are what is to be made
    Path("cluster.toml").write_text('[nodes]\na = "10.0.0.1:7101"\nb = "10.0.0.2:7101"\n')
    code, out, err = command(capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "made certs/ca.key"
    assert "made certs/b.pem" in out
    assert "keep certs/ca.key" in out  # off the nodes
    before = contents(Path("certs"))
    code, out, err = command(capsys, "--out", "certs", "d")  # without looking at cluster.toml
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("made")] == ["made certs/d.key", "made certs/d.pem"]
    assert {name: contents(Path("certs"))[name] for name in before} == before
    code, out, err = command(capsys)
    assert "made" not in out
    assert "replaced" not in out
    code, out, err = command(capsys, "--force", "d")
    assert [line for line in out.splitlines() if line.startswith("replaced")] == [
        "replaced certs/d.key",
        "replaced certs/d.pem",
    ]
    code, out, err = command(capsys, "--force")  # d is not in cluster.toml, and would be left behind
    assert (code, out) == (2, "")
    assert "d" in err
    for name in ("d.pem", "d.key"):
        Path("certs", name).unlink()
    code, out, err = command(capsys, "--force")
    assert code == 0
    assert "replaced certs/ca.key" in out
    Path("certs/b.key").unlink()
    code, out, err = command(capsys)
    again = "`congenial certs --out certs --force b` makes both again"
    assert (code, err) == (
        2,
        f"congenial: certs/b.pem is there without its key certs/b.key: put the key there; or {again}\n",
    )
    code, out, err = command(capsys, *again.split("`")[1].split()[2:])
    assert (code, err) == (0, "")
    assert "replaced certs/b.pem" in out
    monkeypatch.setattr(authority, "has_ended", lambda _: True)
    monkeypatch.setattr(authority, "end_of", lambda _: "has ended on 2020-01-01")
    code, out, err = command(capsys)
    assert f"congenial: certs/b.pem has ended on 2020-01-01: {again}\n" in err
    for words in (["--out", "/proc/x"], ["--out", "cluster.toml"], ["ca"], ["--config", "none"], ["-x"]):
        code, out, err = command(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1), words
