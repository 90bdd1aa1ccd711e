import { useState } from "react";
import { useAct } from "../api/use";
import { signIn, useSession } from "../api/session";
import { Copy } from "../components/Copy";
import { Field } from "../components/Field";
import { Form } from "../components/Form";
import { Page } from "../components/Page";
import { useT } from "../words";

export function Login() {
  const t = useT();
  const [token, setToken] = useState("");
  const entering = useAct();
  const { refused } = useSession();
  return (
    <div className="login">
      <Page title={t("login.title")} lead={t("login.lead")}>
        {refused && entering.problem === null && <p className="note warn">{t("login.refused")}</p>}
        <Form
          submit={t("login.submit")}
          busy={entering.busy}
          problem={entering.problem}
          onSubmit={() => void entering.act(() => signIn(token.trim()))}
        >
          <Field label={t("login.token")} hint={t("login.hint")}>
            {(wiring) => (
              <input
                {...wiring}
                type="password"
                autoComplete="current-password"
                spellCheck={false}
                value={token}
                onChange={(event) => setToken(event.target.value)}
              />
            )}
          </Field>
        </Form>
        <p className="soft">{t("login.noToken")}</p>
        <Copy shown text="windlass token create --role admin --name me --data .windlass" />
      </Page>
    </div>
  );
}
