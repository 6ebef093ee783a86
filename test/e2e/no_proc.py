"""A program finds its model without /proc, too, even if it is called by its name alone. Needs the right to change the root."""
import os
import re
import shutil
import subprocess

from common import WORK, Checks, kept_g2p, run, skip

checks = Checks()
program, jail = kept_g2p(), WORK / "jail"
for path in re.findall(r"(/\S+) \(0x", run("ldd", program)[1]):
    (jail / path[1:]).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, jail / path[1:])
(jail / "bin").mkdir()
shutil.copy(program, jail / "bin" / "g2p")
try:
    done = subprocess.run(["g2p"], input="hello\n", capture_output=True, text=True, env={"PATH": "/bin"},
                          preexec_fn=lambda: (os.chroot(jail), os.chdir("/")))
except subprocess.SubprocessError:
    skip("chroot is not allowed here")
checks.that(done.stdout == "HH EH1 L OW0\n", f"without /proc: {done.returncode} {done.stderr}")
checks.end()
