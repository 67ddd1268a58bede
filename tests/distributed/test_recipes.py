"""The recipes for clusters: what they start is what dualstruct and their schedulers understand."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from dualstruct.cli.command import Command

RECIPES = Path(__file__).parents[2] / "recipes"

HEAD = {
    "type": "object",
    "required": ["rayStartParams", "template"],
    "properties": {
        "rayStartParams": {"type": "object", "additionalProperties": {"type": "string"}},
        "template": {"type": "object", "required": ["spec"]},
    },
    "additionalProperties": False,
}
COUNT = {"type": "integer", "minimum": 0}
WORKERS = {
    **HEAD,
    "required": [*HEAD["required"], "groupName", "minReplicas", "maxReplicas"],
    "properties": {
        **HEAD["properties"],
        "groupName": {"type": "string"},
        **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), COUNT),
    },
}
#: What KubeRay's definition of a RayJob says of the fields that the recipe has: their names, types,
#: and which of them a RayJob must have.
RAY_JOB = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayJob"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "required": ["entrypoint", "rayClusterSpec"],
            "properties": {
                "entrypoint": {"type": "string"},
                "backoffLimit": {"type": "integer", "minimum": 0},
                "shutdownAfterJobFinishes": {"type": "boolean"},
                "rayClusterSpec": {
                    "type": "object",
                    "required": ["headGroupSpec"],
                    "properties": {
                        "rayVersion": {"type": "string"},
                        "authOptions": {
                            "type": "object",
                            "properties": {"mode": {"enum": ["token", "disabled"]}},
                            "additionalProperties": False,
                        },
                        "headGroupSpec": HEAD,
                        "workerGroupSpecs": {"type": "array", "items": WORKERS},
                    },
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


@pytest.fixture
def job() -> dict:
    return yaml.safe_load((RECIPES / "kuberay.yaml").read_text())


def groups(job: dict) -> list[dict]:
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def check_command(words: list[str]) -> None:
    """The program must know every option; nothing is trained."""
    assert words[:2] == ["dualstruct", "train"]
    Command.named("train").parse(words[2:])


def test_the_job_of_kuberay_has_the_fields_of_one(job):
    jsonschema.validate(job, RAY_JOB)
    broken = {**job, "spec": {**job["spec"], "entryPoint": "x"}}
    with pytest.raises(jsonschema.ValidationError, match="entryPoint"):
        jsonschema.validate(broken, RAY_JOB)
    del groups(job)[1]["groupName"]
    with pytest.raises(jsonschema.ValidationError, match="groupName"):
        jsonschema.validate(job, RAY_JOB)


def test_its_pods_fit_the_schema_of_kubernetes(job):
    for group in groups(job):
        pod = {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": "pod"},
            "template": group["template"],
        }
        kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
        pod["template"]["spec"]["containers"][0]["volumeMount"] = []
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
        del pod["template"]["spec"]["containers"][0]["volumeMount"]


def test_its_workers_fit_the_cluster_and_its_command_is_ours(job):
    words = shlex.split(job["spec"]["entrypoint"])
    check_command(words)
    [workers] = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    asked = int(words[words.index("--workers") + 1])
    assert workers["replicas"] * int(workers["rayStartParams"]["num-cpus"]) >= asked
    for group in groups(job):  # every path is on the volume that all share
        mounts = [
            each["mountPath"] for each in group["template"]["spec"]["containers"][0]["volumeMounts"]
        ]
        assert all(
            any(word.startswith(mount) for mount in mounts) for word in words if word[0] == "/"
        )


STUBS = {
    "scontrol": '[ "$1 $2 $3" = "show hostnames n[1-2]" ] && printf "n1\\nn2\\n"',
    # A scheduler of one machine: what is asked of a node is written down and goes on until the end.
    "srun": 'echo "srun $*" >> "$CALLS"; exec sleep 30',
    "ray": 'echo "ray $*" >> "$CALLS"; [ "$(grep -c health "$CALLS")" -gt 1 ]',
    "dualstruct": 'sleep 0.3; echo "dualstruct $*" >> "$CALLS"',
}


def test_the_script_for_slurm_starts_a_head_and_a_worker_and_trains(tmp_path):
    calls = tmp_path / "calls"
    for name, body in STUBS.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/bash\n{body}\n")
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_CPUS_PER_TASK": "2",
    }
    options = ["train.txt", "--model", "ner.dstruct", "--workers", "4", "--checkpoint", "run"]
    done = subprocess.run(
        ["bash", RECIPES / "slurm.sbatch", *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    said = calls.read_text().splitlines()
    runs = [line for line in said if line.startswith("srun")]
    assert [re.search(r"--nodelist=(\S+)", line)[1] for line in runs] == ["n1", "n2"]
    assert "ray start --head --node-ip-address=n1 --port=6379" in runs[0]
    assert "ray start --address n1:6379 --node-ip-address=n2" in runs[1]
    assert "ray health-check --address n1:6379" in said
    assert (
        said[-1] == f"dualstruct train {' '.join(options)} --engine ray --address n1:6379 --resume"
    )
    check_command(shlex.split(said[-1]))
