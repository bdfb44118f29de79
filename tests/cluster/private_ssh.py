"""An ssh server on a port of its own, with its own keys; everything is in one folder."""
import os
import pathlib
import subprocess

from private_slurm import free_ports, wait_until


class PrivateSsh:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, mode=0o700)
        self.port = free_ports(1)[0]
        self.daemon = None

    def __enter__(self):
        f = self.folder
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f / key], check=True)
        (f / "authorized_keys").write_text((f / "user_key.pub").read_text())
        (f / "sshd_config").write_text(f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {f}/host_key
AuthorizedKeysFile {f}/authorized_keys
PidFile {f}/sshd.pid
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
""")
        (f / "ssh_config").write_text("".join(f"""Host {board}
  HostName 127.0.0.1
  Port {self.port}
  IdentityFile {f}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {f}/known_hosts
  StrictHostKeyChecking accept-new
  LogLevel ERROR
""" for board in ("board1", "board2")))
        (f / "known_hosts").touch()
        os.makedirs("/run/sshd", exist_ok=True)
        with open(f / "sshd.log", "wb") as log:
            self.daemon = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", f / "sshd_config"], stderr=log)
        wait_until(lambda: self.run("board1", "true") == 0, 20, "sshd to start")
        return self

    def run(self, host, command):
        return subprocess.run([*self.login(host).split(), command], stdin=subprocess.DEVNULL,
                              capture_output=True).returncode

    def login(self, host):
        return f"ssh -F {self.folder}/ssh_config {host}"

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait()
