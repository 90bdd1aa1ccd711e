import { useState } from "react";
import { at, post, useAct } from "../../api";
import { faultAt, Field, Form } from "../../components";
import { useWords } from "../../words";
import { WHATS, type What } from "./types";
import { words } from "./words";

export function NewWebhook({ onMade }: { readonly onMade: (secret: string) => void }) {
  const t = useWords(words);
  const [url, setUrl] = useState("");
  const [workflow, setWorkflow] = useState("");
  const [on, setOn] = useState<readonly What[]>(["failed", "stuck"]);
  const making = useAct();
  const make = () =>
    void making.act(async () => {
      const body = { url: url.trim(), on, ...(workflow.trim() ? { workflow: workflow.trim() } : {}) };
      const made = await post<{ secret: string }>(at("/webhooks"), body);
      setUrl("");
      onMade(made.secret);
    });
  return (
    <Form submit={t("make")} needs="operate" busy={making.busy} problem={making.problem} onSubmit={make}>
      <div className="fields">
        <Field label={t("url")} hint={t("urlHint")} fault={faultAt(making.problem, "/url")}>
          {(wiring) => (
            <input {...wiring} type="url" value={url} onChange={(event) => setUrl(event.target.value)} />
          )}
        </Field>
        <Field label={t("workflow")} hint={t("workflowHint")} fault={faultAt(making.problem, "/workflow")}>
          {(wiring) => (
            <input {...wiring} value={workflow} onChange={(event) => setWorkflow(event.target.value)} />
          )}
        </Field>
      </div>
      <fieldset className="radios">
        <legend>{t("on")}</legend>
        {WHATS.map((what) => (
          <label key={what}>
            <input
              type="checkbox"
              checked={on.includes(what)}
              onChange={(event) =>
                setOn(event.target.checked ? [...on, what] : on.filter((other) => other !== what))
              }
            />
            {t(`what.${what}`)}
          </label>
        ))}
      </fieldset>
    </Form>
  );
}
