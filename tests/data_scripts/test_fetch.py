"""Getting files: verified, atomic; from a real local server and from a folder."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from data_scripts.fetch import (
    SUMS,
    FetchError,
    RemoteFile,
    fetch,
    record_sums,
    recorded_sums,
    unpack,
    unverified,
)

CONTENT = bytes(range(256)) * 2000  # half a megabyte
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """A small web server that can be slow and change its mind."""

    def __init__(self) -> None:
        self.content, self.pause, self.requests = CONTENT, 0.0, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", str(len(outer.content)))
                self.end_headers()
                for position in range(0, len(outer.content), 1 << 14):
                    self.wfile.write(outer.content[position : position + (1 << 14)])
                    self.wfile.flush()
                    time.sleep(outer.pause)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


@pytest.fixture
def raw(tmp_path) -> Path:
    return tmp_path / "data" / "x" / "raw"


def files_in(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_file_is_fetched_once(server, raw):
    file = RemoteFile("a.bin", f"{server.url}/a.bin", SHA256)
    assert fetch(file, raw).read_bytes() == CONTENT
    fetch(file, raw)
    assert len(server.requests) == 1
    assert files_in(raw) == ["a.bin"]


def test_a_wrong_hash_leaves_everything_else_alone(server, raw):
    raw.mkdir(parents=True)
    (raw / "other.bin").write_bytes(b"precious")
    with pytest.raises(FetchError) as caught:
        fetch(RemoteFile("a.bin", f"{server.url}/a.bin", "0" * 64), raw)
    assert "does not have the expected sha256 0000" in str(caught.value)
    assert SHA256 in str(caught.value)
    assert "no other file was touched" in str(caught.value)
    assert files_in(raw) == ["other.bin"]


def test_a_damaged_file_that_is_there_is_named_and_kept(server, raw):
    raw.mkdir(parents=True)
    (raw / "a.bin").write_bytes(b"damaged")
    with pytest.raises(FetchError, match="Nothing was deleted; remove or rename this file"):
        fetch(RemoteFile("a.bin", f"{server.url}/a.bin", SHA256), raw)
    assert (raw / "a.bin").read_bytes() == b"damaged"
    assert not server.requests


def test_without_a_known_hash_it_is_recorded_when_the_file_has_proved_right(server, raw):
    file = RemoteFile("a.bin", f"{server.url}/a.bin")
    fetch(file, raw)
    assert unverified([file], raw) == ["a.bin"]
    assert recorded_sums(raw) == {}  # it may be a page of excuses, saved under the file's name
    record_sums([file], raw)
    assert (raw / SUMS).read_text() == f"{SHA256}  a.bin\n"
    assert unverified([file], raw) == []
    (raw / "a.bin").unlink()
    server.content = CONTENT[1:]
    with pytest.raises(FetchError, match=f"the expected sha256 {SHA256}, as .*{SUMS} recorded it"):
        fetch(file, raw)
    (raw / "a.bin").write_bytes(b"other")
    with pytest.raises(FetchError, match=r"got .*or the line in that file"):
        fetch(file, raw)
    (raw / "a.bin").unlink()
    server.content = CONTENT
    fetch(file, raw)


def test_offline_without_a_mirror_is_one_clear_sentence(raw):
    with pytest.raises(FetchError) as caught:
        fetch(RemoteFile("a.bin", "http://127.0.0.1:9/a.bin", SHA256), raw)
    assert str(caught.value) == (
        "http://127.0.0.1:9/a.bin: cannot be reached (no connection). Without a network, give a "
        "folder that holds the file with --mirror or DICEBOOK_MIRROR."
    )
    assert files_in(raw) == []


def test_a_folder_as_mirror_with_other_names(tmp_path, raw):
    mirror = tmp_path / "mirror" / "old_name"
    mirror.mkdir(parents=True)
    (mirror / "b.bin").write_bytes(CONTENT)
    file = RemoteFile("a.bin", "http://127.0.0.1:9/a.bin", SHA256, mirror_names=("b.bin",))
    options = {"mirror": str(tmp_path / "mirror"), "folders": ("name", "old_name")}
    assert fetch(file, raw, **options).read_bytes() == CONTENT
    (raw / "a.bin").unlink()
    (mirror / "b.bin").unlink()
    with pytest.raises(FetchError, match=r"a\.bin: not found; no file .*name/a\.bin; .*b\.bin"):
        fetch(file, raw, **options)


def test_a_url_as_mirror(server, raw):
    file = RemoteFile("a b#1.bin", "http://127.0.0.1:9/a.bin", SHA256)
    fetch(file, raw, mirror=server.url + "/", folders=("x",))
    assert server.requests == ["/x/a%20b%231.bin"]


def make_zip(path: Path, names: list[str], link: bool = False) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o120777 if link else 0o100644) << 16
            archive.writestr(entry, "text")
    return path


def make_tar(path: Path, names: list[str], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, 4, "/etc/passwd"
            archive.addfile(member, io.BytesIO(b"text"))
    return path


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_an_archive_is_unpacked(tmp_path, make):
    archive = make(tmp_path / "a", ["a.txt", "b/c.txt"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("of an earlier run")
    assert files_in(unpack(archive, tmp_path / "out")) == ["a.txt", "b/c.txt"]


@pytest.mark.parametrize("make", [make_zip, make_tar])
@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "..\\evil", "C:\\evil"])
def test_a_member_outside_the_folder_is_refused(tmp_path, make, name):
    archive = make(tmp_path / "a", ["good.txt", name])
    with pytest.raises(FetchError, match=r"refused the member .* which leaves the folder"):
        unpack(archive, tmp_path / "x" / "out")
    assert files_in(tmp_path) == ["a"]


def test_links_and_devices_are_refused(tmp_path):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
        with pytest.raises(FetchError, match="refused 'a', neither file nor folder"):
            unpack(make_tar(tmp_path / "t", ["a"], kind), tmp_path / "out")
    with pytest.raises(FetchError, match="refused 'a', neither file nor folder"):
        unpack(make_zip(tmp_path / "z", ["a"], link=True), tmp_path / "out")
    assert files_in(tmp_path) == ["t", "z"]


def test_an_archive_that_is_none_or_damaged_or_too_large(tmp_path):
    (tmp_path / "a").write_bytes(b"no archive")
    with pytest.raises(FetchError, match="expected a zip or tar archive"):
        unpack(tmp_path / "a", tmp_path / "out")
    make_tar(tmp_path / "t", ["a.txt"] * 50)
    data = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(data[: len(data) // 2])
    with pytest.raises(FetchError, match="cannot be unpacked"):
        unpack(tmp_path / "t", tmp_path / "out")
    with pytest.raises(FetchError, match="would unpack to more than the limit"):
        unpack(make_zip(tmp_path / "z", ["a", "b"]), tmp_path / "out", limit=7)
    assert files_in(tmp_path) == ["a", "t", "z"]
