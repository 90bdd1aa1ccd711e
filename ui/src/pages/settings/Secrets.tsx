import { useState } from "react";
import { at, put, remove, useAct, useMay, usePages } from "../../api";
import {
  Card,
  Copy,
  Empty,
  faultAt,
  Field,
  Form,
  ProblemNote,
  Table,
  Time,
  toast,
  type Column,
} from "../../components";
import { useT, useWords } from "../../words";
import { Delete } from "./Delete";
import { Rotate } from "./Rotate";
import type { Secret } from "./types";
import { words } from "./words";

const SET = 'printf %s "$TOKEN" | windlass secret set GITHUB_TOKEN';

export function Secrets() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("operate");
  const found = usePages<Secret>(may.ok ? at("/secrets") : null);
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const setting = useAct();
  const set = async () => {
    const secret = name.trim();
    if (!(await setting.act(() => put(at("/secrets/:secret", { secret }), { value })))) return;
    toast(t("wasSet", { name: secret }));
    setName("");
    setValue("");
    found.again();
  };
  const columns: readonly Column<Secret>[] = [
    { key: "name", head: t("name"), grow: true, cell: (secret) => <code>{secret.name}</code> },
    { key: "version", head: t("version"), end: true, wideOnly: true, cell: (secret) => secret.version },
    { key: "key", head: t("key"), wideOnly: true, cell: (secret) => <code>{secret.key}</code> },
    {
      key: "updated",
      head: t("updated"),
      wideOnly: true,
      cell: (secret) => (
        <span className="keep">
          <Time at={secret.updatedAt} style="ago" />{" "}
          <span className="soft">{t("by", { who: secret.updatedBy })}</span>
        </span>
      ),
    },
    {
      key: "delete",
      head: <span className="unseen">{shared("do.delete")}</span>,
      cell: (secret) => (
        <Delete
          needs="operate"
          deed={shared("do.delete")}
          label={t("deleteLabel", { name: secret.name })}
          title={t("deleteAsk", { name: secret.name })}
          lead={t("deleteSecretMore")}
          said={t("deleted", { name: secret.name })}
          act={() => remove(at("/secrets/:secret", { secret: secret.name }))}
          onDone={found.again}
        />
      ),
    },
  ];
  return (
    <>
      <Card title={t("setSecret")}>
        <p className="soft">{t("secretsLead")}</p>
        <Copy shown text={`{{ secrets.${name.trim() || "GITHUB_TOKEN"} }}`} />
        {!may.ok && <p className="note warn">{may.reason}</p>}
        <Form
          submit={t("set")}
          needs="operate"
          busy={setting.busy}
          problem={setting.problem}
          onSubmit={() => void set()}
        >
          <div className="fields">
            <Field label={t("name")} fault={faultAt(setting.problem, "/name")}>
              {(wiring) => (
                <input
                  {...wiring}
                  value={name}
                  spellCheck={false}
                  autoComplete="off"
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <Field label={t("value")} hint={t("valueHint")} fault={faultAt(setting.problem, "/value")}>
              {(wiring) => (
                <input
                  {...wiring}
                  type="password"
                  autoComplete="new-password"
                  value={value}
                  onChange={(event) => setValue(event.target.value)}
                />
              )}
            </Field>
          </div>
        </Form>
      </Card>
      {may.ok && (
        <Card title={t("tab.secrets")}>
          <ProblemNote problem={found.problem} again={found.again} />
          <Table
            label={t("secretsTable")}
            columns={columns}
            rows={found.items}
            rowKey={(secret) => secret.name}
            more={found.more}
            loading={found.loading}
            empty={
              <Empty title={t("noSecrets")} command={SET}>
                {t("noSecretsMore")}
              </Empty>
            }
          />
          <Rotate onDone={found.again} />
        </Card>
      )}
    </>
  );
}
