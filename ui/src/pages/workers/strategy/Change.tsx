import { useState } from "react";
import { at, put, remove, useAct } from "../../../api";
import { Button, Card, Confirm, faultAt, Field, Form, toast } from "../../../components";
import { useWords } from "../../../words";
import { words, type WorkerWord } from "../words";
import type { Assignment } from "./types";

const OWN = "own";

export interface ChangeProps {
  readonly now: Assignment;
  readonly onChanged: () => void;
}

/** Another strategy for all nodes; asks once. */
export function Change({ now, onChanged }: ChangeProps) {
  const t = useWords(words);
  const [chosen, setChosen] = useState(now.strategies.includes(now.strategy) ? now.strategy : OWN);
  const [own, setOwn] = useState(now.strategies.includes(now.strategy) ? "" : now.strategy);
  const [asked, setAsked] = useState<"change" | "reset" | null>(null);
  const changing = useAct();
  const strategy = chosen === OWN ? own.trim() : chosen;
  const same = strategy === now.strategy;
  const go = async () => {
    const done = await changing.act(async () => {
      const after =
        asked === "reset"
          ? await remove<Assignment>(at("/assignment"))
          : await put<Assignment>(at("/assignment"), { strategy });
      toast(t("changed", { strategy: after.strategy }));
      if (asked === "reset") setChosen(after.strategies.includes(after.strategy) ? after.strategy : OWN);
    });
    setAsked(null);
    if (done) onChanged();
  };
  return (
    <Card title={t("chooseOne")}>
      <Form
        submit={t("change")}
        needs="administer"
        busy={changing.busy}
        problem={changing.problem}
        onSubmit={() => {
          if (same) toast(t("same"));
          else setAsked("change");
        }}
        extra={
          <Button
            needs="administer"
            disabled={now.setAt === null}
            reason={t("asConfigured", { strategy: now.configured })}
            onClick={() => setAsked("reset")}
          >
            {t("reset")}
          </Button>
        }
      >
        <fieldset className="radios">
          <legend className="unseen">{t("chooseOne")}</legend>
          {[...now.strategies, OWN].map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="strategy"
                value={each}
                checked={chosen === each}
                onChange={() => setChosen(each)}
              />
              <span>
                <strong>{each === OWN ? t("own_") : each}</strong>{" "}
                <span className="soft">{t(`is.${each}` as WorkerWord)}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {chosen === OWN && (
          <Field label={t("ownField")} hint={t("chooseHint")} fault={faultAt(changing.problem, "/strategy")}>
            {(wiring) => <input {...wiring} value={own} onChange={(event) => setOwn(event.target.value)} />}
          </Field>
        )}
      </Form>
      <Confirm
        open={asked !== null}
        danger={false}
        title={asked === "reset" ? t("resetAsk", { strategy: now.configured }) : t("changeAsk", { strategy })}
        confirm={t(asked ?? "change")}
        busy={changing.busy}
        onConfirm={() => void go()}
        onClose={() => setAsked(null)}
      >
        <p>{t(asked === "reset" ? "resetMore" : "changeMore")}</p>
      </Confirm>
    </Card>
  );
}
