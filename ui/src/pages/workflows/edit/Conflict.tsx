import { useEffect, useState } from "react";
import { asProblem, type Problem } from "../../../api";
import { Button, ProblemNote } from "../../../components";
import { useWords } from "../../../words";
import { Diff } from "../versions/Diff";
import { words } from "../words";
import { begin, type Draft } from "./draft";

export interface ConflictProps {
  readonly id: string;
  readonly mine: string;
  readonly onOver: (version: number) => void;
  readonly onDrop: () => void;
}

/** Somebody else saved meanwhile: nothing was overwritten, and both are shown. */
export function Conflict({ id, mine, onOver, onDrop }: ConflictProps) {
  const t = useWords(words);
  const [theirs, setTheirs] = useState<Draft | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    begin(id).then(setTheirs, (error: unknown) => setProblem(asProblem(error)));
  }, [id]);
  return (
    <div className="note warn stack" role="alert">
      <p>
        <strong>{t("conflict")}</strong> {t("conflictMore")}
      </p>
      <ProblemNote problem={problem} />
      {theirs && (
        <>
          <Diff before={theirs.text} after={mine} label={t("conflictDiff", { version: theirs.base })} />
          <div className="actions">
            <Button onClick={() => onOver(theirs.base)} needs="operate">
              {t("saveOver", { version: theirs.base })}
            </Button>
            <Button onClick={onDrop}>{t("takeTheirs", { version: theirs.base })}</Button>
          </div>
        </>
      )}
    </div>
  );
}
