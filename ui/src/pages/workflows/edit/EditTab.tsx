import { useEffect, useState } from "react";
import { ask, asProblem, at, useAct, type Problem } from "../../../api";
import { Button, ProblemNote, toast } from "../../../components";
import { useT, useWords } from "../../../words";
import { words } from "../words";
import { useCheck } from "./check";
import { Conflict } from "./Conflict";
import { DocumentEditor } from "./DocumentEditor";
import { begin, type Draft } from "./draft";
import { isChanged } from "./unsaved";

export interface EditTabProps {
  readonly id: string;
  readonly draft: Draft | null;
  readonly onDraft: (draft: Draft | null) => void;
  readonly onSaved: () => void;
}

/** The newest version, to be changed; what is written stays while other tabs are looked at. */
export function EditTab({ id, draft, onDraft, onSaved }: EditTabProps) {
  const t = useWords(words);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    if (draft !== null) return;
    let left = false;
    begin(id).then(
      (begun) => !left && onDraft(begun),
      (error: unknown) => !left && setProblem(asProblem(error)),
    );
    return () => {
      left = true;
    };
  }, [id, draft, onDraft]);
  if (draft === null)
    return problem ? <ProblemNote problem={problem} /> : <p className="soft">{t("checking")}</p>;
  return <Editing id={id} draft={draft} onDraft={onDraft} onSaved={onSaved} />;
}

function Editing({ id, draft, onDraft, onSaved }: EditTabProps & { draft: Draft }) {
  const t = useWords(words);
  const shared = useT();
  const saving = useAct();
  const checked = useCheck(draft.text);
  const changed = isChanged(draft);

  const save = async (over: number) => {
    let version = 0;
    const went = await saving.act(async () => {
      const saved = await ask<{ version: number }>("PUT", at("/workflows/:id", { id }), {
        yaml: draft.text,
        headers: { "If-Match": `"${over}"` },
      });
      version = saved.version;
    });
    if (!went) return;
    toast(t("saved", { version }));
    onDraft({ base: version, before: draft.text, text: draft.text });
    onSaved();
  };
  const conflict = saving.problem?.status === 412;
  return (
    <div className="stack">
      <p className="soft small">
        {t("editHint", { version: draft.base })} {changed && t("unsaved")}
      </p>
      <DocumentEditor
        text={draft.text}
        onText={(text) => {
          if (!conflict) saving.forget();
          onDraft({ ...draft, text });
        }}
        checked={checked}
        onSave={() => void save(draft.base)}
      />
      {conflict ? (
        <Conflict
          id={id}
          mine={draft.text}
          onOver={(version) => void save(version)}
          onDrop={() => {
            saving.forget();
            onDraft(null);
          }}
        />
      ) : (
        <ProblemNote problem={saving.problem} />
      )}
      <div className="actions">
        <Button
          kind="main"
          needs="operate"
          busy={saving.busy}
          disabled={!changed}
          reason={t("unchanged")}
          onClick={() => void save(draft.base)}
        >
          {t("saveVersion")}
        </Button>
        {changed && (
          <Button onClick={() => onDraft({ ...draft, text: draft.before })}>{shared("do.cancel")}</Button>
        )}
      </div>
    </div>
  );
}
