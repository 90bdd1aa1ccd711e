import { useEffect, useRef, useState, type ReactNode } from "react";
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
  const form = useRef<HTMLFormElement>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (tries > 0) goToFault(form.current);
  }, [tries, problem]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (busy) return;
        onSubmit();
        setTries(tries + 1);
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

/** The first field with a mistake has the keyboard, wherever it stands: in a long form it may be out of sight. */
function goToFault(form: HTMLFormElement | null): void {
  const field = form?.querySelector<HTMLElement>("[aria-invalid=true]");
  if (!field) return;
  for (let part = field.closest("details"); part; part = part.parentElement?.closest("details") ?? null)
    part.open = true;
  (field.querySelector<HTMLElement>("[contenteditable=true]") ?? field).focus();
}

/** What the server said about one field: `faultAt(problem, "/expires")`. */
export function faultAt(problem: Problem | null, pointer: string): string | undefined {
  return problem?.faults.find((fault: Fault) => fault.pointer === pointer)?.message;
}
