import { useEffect, useState } from "react";
import { at, post, useAct } from "../../../../../api";
import { Button, Dialog, Field, Form, faultAt, toast } from "../../../../../components";
import { useT, useWords } from "../../../../../words";
import type { RunView } from "../../types";
import { onceKey } from "../once";
import { isSignalName, parse } from "./json";
import { JsonField } from "./JsonField";
import { words } from "./words";

export interface SignalDialogProps {
  readonly run: RunView;
  readonly open: boolean;
  readonly name: string; // what is offered at first
  readonly onClose: () => void;
}

/** Something from outside, by its name, for a step that waits for it or will. */
export function SignalDialog({ run, open, name: offered, onClose }: SignalDialogProps) {
  const t = useWords(words);
  return (
    <Dialog open={open} title={t("signalTitle")} onClose={onClose}>
      <SignalForm run={run} offered={offered} onClose={onClose} />
    </Dialog>
  );
}

interface SignalFormProps {
  readonly run: RunView;
  readonly offered: string;
  readonly onClose: () => void;
}

function SignalForm({ run, offered, onClose }: SignalFormProps) {
  const t = useWords(words);
  const shared = useT();
  const [name, setName] = useState(offered);
  const [data, setData] = useState("");
  const [tried, setTried] = useState(false);
  const [once, setOnce] = useState(onceKey);
  const sending = useAct();
  const parsed = parse(data);
  useEffect(() => setOnce(onceKey()), [name, data]); // another signal, another key
  const send = async () => {
    setTried(true);
    if (!isSignalName(name) || !parsed.ok) return;
    const body = { name, data: parsed.value };
    const headers = { "Idempotency-Key": once };
    if (!(await sending.act(() => post(at("/runs/:run/signal", { run: run.id }), body, { headers })))) return;
    toast(t("signalSent", { name }));
    onClose();
  };
  return (
    <Form
      submit={t("signalSend")}
      needs="operate"
      busy={sending.busy}
      problem={sending.problem}
      onSubmit={() => void send()}
      extra={<Button onClick={onClose}>{shared("do.cancel")}</Button>}
    >
      <Field
        label={t("signalName")}
        hint={t("signalNameHint")}
        fault={tried && !isSignalName(name) ? t("signalNameBad") : faultAt(sending.problem, "/name")}
      >
        {(wiring) => (
          <input
            {...wiring}
            value={name}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <JsonField
        label={t("signalData")}
        hint={t("signalDataHint")}
        value={data}
        onChange={setData}
        fault={tried && !parsed.ok ? t("notJson", { why: parsed.why }) : faultAt(sending.problem, "/data")}
      />
    </Form>
  );
}
