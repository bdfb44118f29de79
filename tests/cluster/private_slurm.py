"""A Slurm of two nodes on this machine, with its own munge key; everything is in one folder."""
import os
import pathlib
import secrets
import socket
import subprocess
import time

NODES = ("node1", "node2")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class PrivateSlurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        self.folder.mkdir(parents=True)
        (self.folder / "state").mkdir()
        (self.folder / "munge").mkdir(mode=0o700)
        self.ports = free_ports(1 + len(NODES))
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))

    def configuration(self):
        f, host = self.folder, socket.gethostname()
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={os.cpu_count()}"
                          for node, port in zip(NODES, self.ports[1:]))
        # A requeued job waits until its credential has expired: 10 s, not 120.
        # proctrack/linuxproc and task/none need no cgroups, so this runs in containers.
        return f"""ClusterName=assay
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={self.ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={f}/munge/socket,cred_expire=10
StateSaveLocation={f}/state
SlurmdSpoolDir={f}/spool-%n
SlurmctldPidFile={f}/slurmctld.pid
SlurmdPidFile={f}/slurmd-%n.pid
SlurmctldLogFile={f}/slurmctld.log
SlurmdLogFile={f}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MinJobAge=3600
{nodes}
PartitionName=main Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""

    def __enter__(self):
        munge = self.folder / "munge"
        key = munge / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(self.configuration())
        self.start("munged", "--foreground", "--force", "--key-file", key, "--socket", munge / "socket",
                   "--pid-file", munge / "pid", "--log-file", munge / "log", "--seed-file", munge / "seed")
        wait_until(lambda: (munge / "socket").exists(), 20, "munged to start")
        self.start("slurmctld", "-D")
        for node in NODES:
            self.start("slurmd", "-D", "-N", node)
        wait_until(lambda: self.command("sinfo", "-h", "-o", "%T %D").stdout.strip() == f"idle {len(NODES)}", 60,
                   "both nodes to be idle")
        return self

    def start(self, program, *words):
        with open(self.folder / f"{program}-{len(self.daemons)}.out", "wb") as output:
            self.daemons.append(subprocess.Popen([f"/usr/sbin/{program}", *map(str, words)], stdout=output,
                                                 stderr=output, stdin=subprocess.DEVNULL, env=self.environment))

    def __exit__(self, *_):
        self.command("scancel", "--user", "root")
        time.sleep(1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def command(self, *words):
        return subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True)

    # Lines "INDEX STATE" of the jobs of an array, by index; finished ones are known for a while.
    def states(self, job):
        lines = self.command("squeue", "--array", "--noheader", "--states=all", "--job", job, "--format=%K %T").stdout
        return {int(line.split()[0]): line.split()[1] for line in lines.splitlines() if line.split()[0].isdigit()}

    def is_over(self, job):
        states = self.states(job)
        return bool(states) and all(state in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
                                    for state in states.values())


def wait_until(is_so, seconds, what):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.2)
