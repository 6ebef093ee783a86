"""Start-up and memory of a compiled program.

    start.py PROGRAM [LINE] [--repeat N] [-- PROGRAM'S OPTIONS]

Starts fresh processes (after one that brings the file into the page cache) and prints, in milliseconds, the time from exec to
the answer to the first line and start-up: that less the time of the same line to a running program. Then peak resident
memory: of the file's mapping, and beyond it, beside the bound that --limits states.
"""
import os
import re
import subprocess
import sys
import threading
import time


class Running:
    """A program that answers lines one at a time."""

    def __init__(self, program, options=()):
        self.process = subprocess.Popen([str(program), *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def memory(self):
        """kB by /proc's names: VmHWM, RssAnon, RssFile ..."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return {name: int(value) for name, value in re.findall(r"(\w+):\s+(\d+) kB", file.read())}

    def processor_seconds(self):
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat", encoding="utf-8") as file:
                total += int(file.read().split()[0])
        return total * 1e-9

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()


def measure_start(program, line, options=(), repeat=5, processor_time=False):
    """Seconds: (exec to the first answer, the same answer of a running program), the medians of some processes. Processor time
    does not depend on other work of the machine."""
    firsts, warms = [], []
    for i in range(repeat + 1):
        begin = 0 if processor_time else time.perf_counter()
        running = Running(program, options)
        clock = running.processor_seconds if processor_time else time.perf_counter
        running.send(line)
        firsts.append(clock() - begin)
        again = []
        for _ in range(5):
            begin = clock()
            running.send(line)
            again.append(clock() - begin)
        warms.append(min(again))
        running.end()
        if i == 0:  # it may have read the file from the disk
            firsts, warms = [], []
    return sorted(firsts)[repeat // 2], sorted(warms)[repeat // 2]


def stated_bound(program, options=()):
    """MiB by name, as --limits prints them: weights, state, workspace, scratch, search, lines, total."""
    text = subprocess.run([str(program), *map(str, options), "--limits"], capture_output=True, text=True, check=True).stdout
    return {name: float(value) for name, value in re.findall(r"^\s+(\w+)\s+([\d.]+) MiB", text, re.M)}


def peak_memory(program, lines, options=()):
    """MiB: peak resident memory of all, and of what is not a file's, after the lines have been answered."""
    running = Running(program, options)

    def write():
        running.process.stdin.write("".join(line + "\n" for line in lines).encode())
        running.process.stdin.flush()

    # The program waits for its answers to be read when it has many.
    writer = threading.Thread(target=write)
    writer.start()
    for _ in lines:
        running.process.stdout.readline()
    writer.join()
    memory = running.memory()
    running.end()
    return memory["VmHWM"] / 1024, memory["RssAnon"] / 1024


def main():
    own, _, theirs = " ".join(sys.argv[1:]).partition(" -- ")
    arguments, repeat = own.split(), 5
    if "--repeat" in arguments:
        at = arguments.index("--repeat")
        repeat = int(arguments[at + 1])
        del arguments[at:at + 2]
    if not arguments:
        sys.exit(__doc__)
    program, line, options = os.path.abspath(arguments[0]), " ".join(arguments[1:]) or "5 6 7 8", theirs.split()
    first, warm = measure_start(program, line, options, repeat)
    print(f"first {first * 1e3:.1f} ms, warm {warm * 1e3:.1f} ms, start-up {(first - warm) * 1e3:.1f} ms")
    peak, anonymous = peak_memory(program, [line], options)
    bound = stated_bound(program, options)
    print(f"peak {peak:.1f} MiB, not the file's {anonymous:.1f} MiB; stated: weights {bound['weights']:.1f} MiB, "
          f"beyond them {bound['total'] - bound['weights']:.1f} MiB")


if __name__ == "__main__":
    main()
