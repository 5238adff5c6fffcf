"""Tests the arguments of the sandbox for lists of paths, without running it."""

from __future__ import annotations

from bough.agents.sandbox.bwrap_arguments import BASE, MACHINE, Box, BoxLimits, arguments, limited


def mounts(box: Box) -> list[str]:
    """Returns the mounts after those that every box has, one text each."""
    words = arguments("/usr/bin/bwrap", box)[1 + len(BASE) + 7 + 3 * len(MACHINE) :]
    sizes = {"--bind": 3, "--ro-bind": 3, "--tmpfs": 2, "--remount-ro": 2, "--chdir": 2}
    result: list[str] = []
    while words:
        size = sizes[words[0]]
        result.append(" ".join(words[:size]))
        words = words[size:]
    return result


def test_inner_paths_are_mounted_after_outer_ones() -> None:
    """S6: Whatever the lists say, no mount covers one inside it."""
    box = Box(
        cwd="/home/a/project",
        hidden_folders=["/home/a/project/.secret", "/home/a/data"],
        private=["/tmp"],
        readable=["/home/a/data/npm"],
        writable=["/tmp/x/repo", "/home/a/project"],
        protected=["/home/a/project/.git/config"],
    )
    assert mounts(box) == [
        "--tmpfs /home/a/data",
        "--ro-bind /home/a/data/npm /home/a/data/npm",
        "--bind /home/a/project /home/a/project",
        "--ro-bind /home/a/project/.git/config /home/a/project/.git/config",
        "--tmpfs /home/a/project/.secret",
        "--tmpfs /tmp",
        "--bind /tmp/x/repo /tmp/x/repo",
        "--remount-ro /home/a/data",
        "--remount-ro /home/a/project/.secret",
        "--chdir /home/a/project",
    ]


def test_a_later_list_wins() -> None:
    """S6: A path that is hidden and writable is writable; one that is writable and protected is read-only."""
    box = Box(cwd="/w", hidden_folders=["/a"], writable=["/a", "/w", "/b"], protected=["/b"])
    assert mounts(box)[:3] == ["--bind /a /a", "--ro-bind /b /b", "--bind /w /w"]


def test_the_root_covers_nothing() -> None:
    """S6: A box with the whole machine still has its own /dev and /proc."""
    words = arguments("/usr/bin/bwrap", Box(cwd="/", readable=["/"]))[1 + len(BASE) :]
    machine = [word for path in MACHINE for word in ("--ro-bind-try", path, path)]
    assert words == ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *machine, "--chdir", "/"]


def test_a_hidden_file_is_empty() -> None:
    """S6: A single file is covered by an empty one, and not at all inside a hidden folder."""
    box = Box(cwd="/w", hidden_folders=["/h"], hidden_files=["/f", "/h/f"], empty_file="/e", writable=["/w"])
    assert mounts(box) == ["--ro-bind /e /f", "--tmpfs /h", "--bind /w /w", "--remount-ro /h", "--chdir /w"]


def test_names_that_only_begin_alike_are_not_inside() -> None:
    """S6: `/tmp-x` is not below `/tmp`."""
    box = Box(cwd="/w", private=["/tmp"], hidden_folders=["/tmp-x"], writable=["/w"])
    assert "--tmpfs /tmp-x" in mounts(box)


def test_limits_are_set_inside() -> None:
    """S6: The limits come before the agent's command; a machine without prlimit sets none."""
    limits = BoxLimits(memory=1, processes=2, open_files=3)
    assert limited("/usr/bin/prlimit", limits)[1:] == ["--data=1", "--nproc=2", "--nofile=3", "--core=0", "--"]
    assert limited(None, limits) == []


def test_a_strict_box_has_its_own_network() -> None:
    """S6: Only the strict profile takes the network away."""
    assert "--unshare-net" not in arguments("/usr/bin/bwrap", Box(cwd="/w"))
    assert "--unshare-net" in arguments("/usr/bin/bwrap", Box(cwd="/w", own_network=True))
