import { useState } from "react";
import { at, post, useAct } from "../../api";
import { Button, Confirm, toast } from "../../components";
import { useWords } from "../../words";
import type { Rotated } from "./types";
import { words } from "./words";

/** Seals all secrets with the first key; asks once. */
export function Rotate({ onDone }: { readonly onDone: () => void }) {
  const t = useWords(words);
  const [asking, setAsking] = useState(false);
  const [locked, setLocked] = useState<readonly string[]>([]);
  const sealing = useAct();
  const seal = async () => {
    const done = await sealing.act(async () => {
      const told = await post<Rotated>(at("/secrets:rotate"));
      setLocked(told.locked);
      toast(t("rotated", { count: told.resealed, key: told.key }));
    });
    if (!done) return;
    setAsking(false);
    onDone();
  };
  return (
    <div className="rotate">
      <p className="soft small">{t("rotateLead")}</p>
      {locked.length > 0 && <p className="note warn">{t("locked", { names: locked.join(", ") })}</p>}
      <Button needs="administer" onClick={() => setAsking(true)}>
        {t("rotate")}
      </Button>
      <Confirm
        open={asking}
        danger={false}
        title={t("rotateAsk")}
        confirm={t("rotate")}
        busy={sealing.busy}
        problem={sealing.problem}
        onConfirm={() => void seal()}
        onClose={() => setAsking(false)}
      >
        <p>{t("rotateMore")}</p>
      </Confirm>
    </div>
  );
}
