"""Holds oap1.py to the vectors and to another implementation of OAP/1.

    check.py vectors FILE   read and write every vector of the file
    check.py decode         lines of hexadecimal on stdin: what is in each, as a line of JSON
    check.py encode         lines of JSON on stdin: each as a frame, in hexadecimal
    check.py echo           serve one connection on a port of its own: print the port, answer what is sent
    check.py call PORT      say HELLO, ask the echo service for what is on stdin, print the answer
"""

import json
import socket
import sys

import oap1


def described(frame):
    return {
        "flags": frame.flags,
        "code": frame.code,
        "app_proto": frame.app_proto,
        "tenant": f"{frame.tenant:032x}",
        "corr_id": frame.corr_id,
        "cap": frame.cap.hex(),
        "payload": frame.payload.hex(),
    }


def from_description(one):
    return oap1.Frame(
        one["flags"],
        one["code"],
        one["app_proto"],
        int(one["tenant"], 16),
        one["corr_id"],
        bytes.fromhex(one["cap"]),
        bytes.fromhex(one["payload"]),
    )


def seen(data, size):
    """What comes of bytes that arrive in pieces of this size."""
    decoder, frames = oap1.Decoder(), []
    try:
        for at in range(0, len(data), size):
            frames.extend(decoder.feed(data[at : at + size]))
    except oap1.Refused as refused:
        return {"frames": [described(frame) for frame in frames], "reason": refused.reason}
    return {"frames": [described(frame) for frame in frames], "rest": len(decoder.inbox)}


def same(name, found, expected):
    if found != expected:
        raise SystemExit(f"{name}: found {found!r}, expected {expected!r}")


def refusal(read, data):
    try:
        read(data)
    except oap1.Refused as refused:
        return refused.reason
    return None


def check_frames(vectors):
    for one in vectors["frames"]:
        name, data = one["name"], bytes.fromhex(one["hex"])
        fields = {key: one[key] for key in one if key not in ("name", "hex")}
        for size in (1, 7, len(data)):
            same(name, seen(data, size), {"frames": [fields], "rest": 0})
        same(name, from_description(one).encode().hex(), one["hex"])
    for one in vectors["refused"]:
        data = bytes.fromhex(one["hex"])
        for size in (1, 7, len(data)):
            same(one["name"], seen(data, size), {"frames": [], "reason": one["reason"]})


def check_caps(vectors):
    for one in vectors["caps"]:
        name, data = one["name"], bytes.fromhex(one["hex"])
        if "reason" in one:
            same(name, refusal(oap1.read_cap, data), one["reason"])
            continue
        items = oap1.read_cap(data)
        for key in ("token", "trace"):
            value = items.get(key)
            same(name, value if value is None else value.hex(), one[key])
        same(name, items.get("deadline_ms"), one["deadline_ms"])
        same(name, oap1.read_cap(oap1.write_cap(items)), items)


def check_heads(vectors):
    for one in vectors["heads"]:
        name, data = one["name"], bytes.fromhex(one["hex"])
        if "reason" in one:
            same(name, refusal(oap1.read_head, data), one["reason"])
            continue
        head, body = oap1.read_head(data)
        found = [head.method, head.target, head.authority]
        same(name, [text.decode() for text in found], [one["method"], one["target"], one["authority"]])
        fields = [[key.decode(), value.hex()] for key, value in head.fields]
        same(name, fields, one["fields"])
        same(name, body.hex(), one["body"])
        same(name, (head.encode() + body).hex(), one["hex"])


def check_tenants(vectors):
    for one in vectors["tenants"]:
        same(one["name"], f"{oap1.tenant_id(one['name']):032x}", one["tenant"])


def vectors(path):
    with open(path, encoding="utf-8") as file:
        all_vectors = json.load(file)
    check_frames(all_vectors)
    check_caps(all_vectors)
    check_heads(all_vectors)
    check_tenants(all_vectors)
    print(sum(len(part) for part in all_vectors.values()), "vectors hold")


def decode():
    for line in sys.stdin:
        data = bytes.fromhex(line)
        whole = seen(data, max(1, len(data)))
        same("cut into bytes", seen(data, 1), whole)
        print(json.dumps(whole))


def encode():
    for line in sys.stdin:
        print(from_description(json.loads(line)).encode().hex())


def frames(connection, decoder):
    while data := connection.recv(65536):
        yield from decoder.feed(data)


def echo():
    """Says what it can, then answers each request with its own payload, decompressed."""
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    for frame in frames(connection, oap1.Decoder()):
        if frame.flags & oap1.EVENT:
            continue
        if frame.app_proto == oap1.CONTROL:
            ours = {
                "ua": "interop",
                "version": 1,
                "max_frame": 1 << 20,
                "max_inflight": 4,
                "window": 1 << 16,
                "flags": 127,
                "codec": "gzip",
            }
            payload = json.dumps(ours).encode()
            answer = oap1.Frame(oap1.RESP, 200, 0, frame.tenant, frame.corr_id, b"", payload)
        else:
            payload = oap1.gunzip(frame.payload) if frame.flags & oap1.COMP else frame.payload
            answer = oap1.Frame(
                oap1.RESP, 200, frame.app_proto, frame.tenant, frame.corr_id, b"", payload
            )
        connection.sendall(answer.encode())


def call(port):
    connection = socket.create_connection(("127.0.0.1", int(port)), timeout=30)
    answers = frames(connection, oap1.Decoder())
    connection.sendall(oap1.Frame(oap1.REQ, 0, 0, 0, 7, b"", b'{"ua":"interop"}').encode())
    greeting = next(answers)
    same("greeting", (greeting.flags, greeting.code, greeting.corr_id), (oap1.RESP, 200, 7))
    cap = oap1.write_cap({"token": b"key", "deadline_ms": 30_000})
    payload = sys.stdin.buffer.read()
    asked = oap1.Frame(oap1.REQ, 1, 40, 9, 8, cap, payload)
    connection.sendall(asked.encode())
    parts = []
    for answer in answers:
        same("answer", (answer.app_proto, answer.corr_id), (40, 8))
        parts.append(answer.payload)
        if answer.ends:
            break
    sys.stdout.buffer.write(b"".join(parts))


def main():
    commands = {"vectors": vectors, "decode": decode, "encode": encode, "echo": echo, "call": call}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


main()
