from .test_modes import *
from .mishaps import kill, agent_tree
import time
async def test_dbg(real, place):
    session = await real.session(permissionMode="default")
    t=time.monotonic()
    def lap(what):
        nonlocal t
        now=time.monotonic(); print(f"{now-t:.2f} {what}"); t=now
    await watch(real, session, real.deeds.say("hi"), "deny"); lap("first")
    await watch(real, session, real.deeds.say("hi"), "deny"); lap("second")
    for i in range(3):
        await watch(real, session, real.deeds.write(f"a{i}"), "allow"); lap("write allow")
    for i in range(3):
        await watch(real, session, real.deeds.write(f"b{i}"), "deny"); lap("write deny")
    for i in range(3):
        await watch(real, session, real.deeds.shell_write(f"c{i}"), "allow"); lap("shell allow")
    for i in range(3):
        await watch(real, session, real.deeds.shell_write(f"d{i}"), "deny"); lap("shell deny")
    await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "bypassPermissions"}); lap("patch")
    await watch(real, session, real.deeds.write(f"e"), "deny"); lap("first in bypass")
    await watch(real, session, real.deeds.write(f"f"), "deny"); lap("second in bypass")
    kill(agent_tree(real))
    await watch(real, session, real.deeds.say(f"f"), "deny"); lap("after kill")
    for e in await real.model.log(): print(e.t, e.path, e.does)
    assert 0
