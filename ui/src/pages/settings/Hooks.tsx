import { useState } from "react";
import { at, put, remove, useAct, useMay, usePages } from "../../api";
import { Card, Copy, Empty, faultAt, Field, Form, ProblemNote, Table, type Column } from "../../components";
import { useT, useWords } from "../../words";
import { Delete } from "./Delete";
import { ShownOnce } from "./ShownOnce";
import { CHECKS, type Hook } from "./types";
import { words } from "./words";

const CREATE = "windlass hook create paid --signal payment --run body.run";

export function Hooks() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("operate");
  const found = usePages<Hook>(may.ok ? at("/inbound-hooks") : null);
  const [name, setName] = useState("");
  const [workflow, setWorkflow] = useState("");
  const [check, setCheck] = useState<(typeof CHECKS)[number]>("secret");
  const [secret, setSecret] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const making = useAct();
  const make = () =>
    void making.act(async () => {
      const path = at("/inbound-hooks/:hook", { hook: name.trim() });
      const told = await put<{ secret: string | null }>(path, {
        action: "start",
        workflow: workflow.trim(),
        check,
        ...(secret ? { secret } : {}),
      });
      setMade(told.secret);
      setName("");
      setSecret("");
      found.again();
    });
  const columns: readonly Column<Hook>[] = [
    { key: "name", head: t("hookName"), cell: (hook) => <strong>{hook.name}</strong> },
    {
      key: "does",
      head: t("does"),
      wideOnly: true,
      cell: (hook) =>
        hook.action === "start"
          ? t("starts", { workflow: hook.workflow ?? "" })
          : t("signals", { signal: hook.signal ?? hook.name }),
    },
    {
      key: "path",
      head: t("path"),
      grow: true,
      cell: (hook) => <Copy shown text={location.origin + hook.path} />,
    },
    {
      key: "delete",
      head: <span className="unseen">{shared("do.delete")}</span>,
      cell: (hook) => (
        <Delete
          needs="operate"
          deed={shared("do.delete")}
          label={t("deleteLabel", { name: hook.name })}
          title={t("deleteAsk", { name: hook.name })}
          lead={t("deleteHookMore")}
          said={t("deleted", { name: hook.name })}
          act={() => remove(at("/inbound-hooks/:hook", { hook: hook.name }))}
          onDone={found.again}
        />
      ),
    },
  ];
  return (
    <>
      <Card title={t("newHook")}>
        <p className="soft">{t("hooksLead")}</p>
        {!may.ok && <p className="note warn">{may.reason}</p>}
        <Form submit={t("make")} needs="operate" busy={making.busy} problem={making.problem} onSubmit={make}>
          <div className="fields">
            <Field label={t("hookName")} hint={t("hookNameHint")}>
              {(wiring) => (
                <input {...wiring} value={name} onChange={(event) => setName(event.target.value)} />
              )}
            </Field>
            <Field label={t("workflow")} fault={faultAt(making.problem, "/workflow")}>
              {(wiring) => (
                <input {...wiring} value={workflow} onChange={(event) => setWorkflow(event.target.value)} />
              )}
            </Field>
            <Field label={t("check")} hint={t("checkHint")}>
              {(wiring) => (
                <select
                  {...wiring}
                  value={check}
                  onChange={(event) =>
                    setCheck(CHECKS.find((each) => each === event.target.value) ?? "secret")
                  }
                >
                  {CHECKS.map((each) => (
                    <option key={each} value={each}>
                      {t(`check.${each}`)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            <Field label={t("secret")} hint={t("secretHint")} fault={faultAt(making.problem, "/secret")}>
              {(wiring) => (
                <input
                  {...wiring}
                  type="password"
                  autoComplete="new-password"
                  value={secret}
                  onChange={(event) => setSecret(event.target.value)}
                />
              )}
            </Field>
          </div>
        </Form>
      </Card>
      {may.ok && (
        <Card title={t("tab.hooks")}>
          <ProblemNote problem={found.problem} again={found.again} />
          <Table
            label={t("hooksTable")}
            columns={columns}
            rows={found.items}
            rowKey={(hook) => hook.name}
            more={found.more}
            loading={found.loading}
            empty={
              <Empty title={t("noHooks")} command={CREATE}>
                {t("noHooksMore")}
              </Empty>
            }
          />
        </Card>
      )}
      <ShownOnce
        title={t("madeSecret")}
        lead={t("madeSecretMore")}
        text={made}
        onClose={() => setMade(null)}
      />
    </>
  );
}
