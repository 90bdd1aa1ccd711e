import { useState } from "react";
import { at, post, useAct } from "../../api";
import { faultAt, Field, Form } from "../../components";
import { useWords } from "../../words";
import { tokenBody } from "./token";
import { ROLES } from "./types";
import { words } from "./words";

/** The form for a token; what was made is told once. */
export function NewToken({ onMade }: { readonly onMade: (token: string) => void }) {
  const t = useWords(words);
  const [role, setRole] = useState<(typeof ROLES)[number]>("read");
  const [namespace, setNamespace] = useState("default");
  const [name, setName] = useState("");
  const [expires, setExpires] = useState("30d");
  const making = useAct();
  const make = () =>
    void making.act(async () => {
      const made = await post<{ token: string }>(
        at("/tokens"),
        tokenBody({ role, namespace, name, expires }),
      );
      setName("");
      onMade(made.token);
    });
  return (
    <Form submit={t("make")} needs="administer" busy={making.busy} problem={making.problem} onSubmit={make}>
      <div className="fields">
        <Field label={t("name")} hint={t("nameHint")} fault={faultAt(making.problem, "/name")}>
          {(wiring) => <input {...wiring} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label={t("role")} hint={t(`role.${role}`)}>
          {(wiring) => (
            <select
              {...wiring}
              value={role}
              onChange={(event) => setRole(ROLES.find((each) => each === event.target.value) ?? "read")}
            >
              {ROLES.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("namespace")} hint={t("namespaceHint")} fault={faultAt(making.problem, "/namespace")}>
          {(wiring) => (
            <input
              {...wiring}
              value={role === "admin" ? "*" : namespace}
              disabled={role === "admin"}
              onChange={(event) => setNamespace(event.target.value)}
            />
          )}
        </Field>
        <Field label={t("expires")} hint={t("expiresHint")} fault={faultAt(making.problem, "/expires")}>
          {(wiring) => (
            <input {...wiring} value={expires} onChange={(event) => setExpires(event.target.value)} />
          )}
        </Field>
      </div>
    </Form>
  );
}
