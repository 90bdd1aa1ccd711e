import type { Say } from "../../words";
import type { TaskFailure } from "./types";
import type { TaskWord } from "./words";

// The types of failures that tasks end with (docs/tasks.md); others are called as the server does.
const TYPES: Readonly<Record<string, TaskWord>> = {
  TimeLimit: "failed.TimeLimit",
  CpuLimit: "failed.CpuLimit",
  MemoryLimit: "failed.MemoryLimit",
  DiskLimit: "failed.DiskLimit",
  OutputLimit: "failed.OutputLimit",
  ExitCode: "failed.ExitCode",
  Signal: "failed.Signal",
  CompileError: "failed.CompileError",
  SandboxFailed: "failed.SandboxFailed",
  TooMuch: "failed.TooMuch",
  Lost: "failed.Lost",
};

/** Why a task failed, in words of this page, and what the server says of it. */
export function failureText(failure: TaskFailure, t: Say<TaskWord>): string {
  const word = TYPES[failure.type];
  const type = word ? t(word) : failure.type;
  return t("failure", { type, message: failure.message });
}
