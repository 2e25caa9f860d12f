"""Tries to get out, one attempt after the other, each in a process of its own, and says as JSON what came of it."""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


def capabilities():
    with open("/proc/self/status", encoding="utf8") as status:
        held = [line.split()[1] for line in status if line.startswith("Cap")]
    if all(int(number, 16) == 0 for number in held):
        raise OSError(errno.EPERM, "none held")


def change_attributes():
    with open("/workspace/attributes", "w", encoding="utf8") as file:
        attributes = fcntl.ioctl(file, 0x801C581F, bytes(28))
        fcntl.ioctl(file, 0x401C5820, attributes)


def become_root():
    os.setuid(0)


def write_root():
    open("/usr/bin/planted", "x").close()


def write_init():
    os.open("/.bailiff/init", os.O_WRONLY)


def mount():
    call("mount", b"none", b"/tmp", b"tmpfs", 0, None)


def remount_root():
    call("mount", None, b"/", None, 32 | 4096, None)


def unshare(flags):
    return lambda: call("unshare", flags)


def device(kind, major, minor):
    def attempt():
        os.mknod("/tmp/device", kind | 0o666, os.makedev(major, minor))
        os.open("/tmp/device", os.O_RDONLY)

    return attempt


def write(path, text):
    def attempt():
        handle = os.open(path, os.O_WRONLY)
        os.write(handle, text)

    return attempt


def read(path):
    def attempt():
        os.read(os.open(path, os.O_RDONLY), 1)

    return attempt


def connect(address, port):
    def attempt():
        socket.setdefaulttimeout(5)
        socket.create_connection((address, port))

    return attempt


def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))


def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)


def unix_socket(path):
    return lambda: socket.socket(socket.AF_UNIX).connect(path)


def trace_init():
    call("ptrace", 16, 1, None, None)


def kill_init():
    os.kill(1, 9)


def fill(path):
    """Writes a quarter more than what is allowed there."""

    def attempt():
        handle = os.open(path, os.O_WRONLY | os.O_CREAT)
        for _ in range(20):
            os.write(handle, bytes(1 << 20))

    return attempt


NEW_NAMESPACE, NEW_USER, NEW_NETWORK = 0x20000, 0x10000000, 0x40000000
CHARACTER, BLOCK = 0o020000, 0o060000

ATTEMPTS = {
    "hold a capability": capabilities,
    "become root": become_root,
    "write to the root file system": write_root,
    "write to bailiff-init": write_init,
    "kill bailiff-init": kill_init,
    "trace bailiff-init": trace_init,
    "mount a file system": mount,
    "remount the root writable": remount_root,
    "enter a new mount namespace": unshare(NEW_NAMESPACE),
    "mount in a new user namespace": lambda: (call("unshare", NEW_USER | NEW_NAMESPACE), mount()),
    "enter a new network namespace": unshare(NEW_NETWORK),
    "make and read a block device": device(BLOCK, 8, 0),
    "make and read /dev/mem": device(CHARACTER, 1, 1),
    "read /dev/mem": read("/dev/mem"),
    "read /proc/kcore": read("/proc/kcore"),
    "write /proc/sys/kernel/core_pattern": write("/proc/sys/kernel/core_pattern", b"|/tmp/x"),
    "write /proc/sysrq-trigger": write("/proc/sysrq-trigger", b"h"),
    "write /sys/kernel/uevent_helper": write("/sys/kernel/uevent_helper", b"/tmp/x"),
    "raise its own memory limit": write("/sys/fs/cgroup/memory/memory.limit_in_bytes", b"-1"),
    "connect to an address outside": connect("192.0.2.1", 80),
    "send a datagram outside": datagram,
    "reach the metadata service (169.254.169.254)": connect("169.254.169.254", 80),
    "reach the engine's host": connect("172.17.0.1", 22),
    "open a raw socket": raw_socket,
    "reach the engine's socket": unix_socket("/var/run/docker.sock"),
    "read a service account's token": read("/var/run/secrets/kubernetes.io/serviceaccount/token"),
    "change what a quota counts a file by": change_attributes,
    "fill /tmp": fill("/tmp/full"),
    "fill /dev/shm": fill("/dev/shm/full"),
    "fill HOME": fill("/home/agent/full"),
}


def apart(attempt):
    """In a child: an attempt may change what the next one would find."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attempt()
            answer = "succeeded"
        except OSError as error:
            answer = errno.errorcode.get(error.errno, str(error)) if error.errno else str(error)
        os.write(theirs, answer.encode())
        os._exit(0)
    os.close(theirs)
    answer = os.read(ours, 200).decode()
    os.close(ours)
    os.waitpid(child, 0)
    return answer or "killed"


def fork_bomb():
    try:
        for _ in range(80):
            if os.fork() == 0:
                signal.pause()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "succeeded"


for name, attempt in ATTEMPTS.items():
    print(json.dumps([name, apart(attempt)]), flush=True)
# Last: what it starts stays until bailiff-init ends it.
print(json.dumps(["start more processes than its limit", fork_bomb()]), flush=True)
