import type { ReactNode } from "react";
import type { Fault, Problem } from "../api/problem";
import { Button } from "./Button";
import { ProblemNote } from "./ProblemNote";
import type { Right } from "../api/session";

export interface FormProps {
  readonly children: ReactNode;
  readonly submit: string; // what the button says
  readonly onSubmit: () => void;
  readonly needs?: Right;
  readonly busy?: boolean;
  readonly problem?: Problem | null;
  readonly extra?: ReactNode; // other buttons
}

export function Form({ children, submit, onSubmit, needs, busy = false, problem = null, extra }: FormProps) {
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit();
      }}
    >
      {children}
      <ProblemNote problem={problem} />
      <div className="actions">
        <Button type="submit" kind="main" busy={busy} {...(needs ? { needs } : {})}>
          {submit}
        </Button>
        {extra}
      </div>
    </form>
  );
}

/** What the server said about one field: `faultAt(problem, "/expires")`. */
export function faultAt(problem: Problem | null, pointer: string): string | undefined {
  return problem?.faults.find((fault: Fault) => fault.pointer === pointer)?.message;
}
