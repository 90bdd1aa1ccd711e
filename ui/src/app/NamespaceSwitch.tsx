import { useState } from "react";
import { at } from "../api/client";
import { useSession } from "../api/session";
import { useAsk } from "../api/use";
import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { Field } from "../components/Field";
import { Form } from "../components/Form";
import { namespaceOf, navigate, usePlace } from "../router";
import { useT } from "../words";
import { DEFAULT, NAMESPACE, withHere, type Namespaces } from "./namespaces";

const OTHER = "?";

/** Which namespace the page is about. A token of one namespace has no choice, and is told which; a link may have
 * led it to another one. */
export function NamespaceSwitch() {
  const t = useT();
  const { me } = useSession();
  const place = usePlace();
  const [asking, setAsking] = useState(false);
  const free = me?.namespace === "*";
  const own = (free ? null : me?.namespace) ?? DEFAULT;
  const now = namespaceOf(place.query) ?? own;
  const asked = useAsk<Namespaces>(free ? at("/namespaces") : null);
  const choose = (name: string) => {
    // What was open may not be there: its list is.
    const section = place.path.split("/").slice(0, 3).join("/");
    navigate(`${section}?namespace=${name === own ? "" : encodeURIComponent(name)}`);
  };
  if (!free)
    return (
      <>
        <span className="who">{now}</span>
        {now !== own && <Button onClick={() => choose(own)}>{t("app.namespaceBack", { name: own })}</Button>}
      </>
    );
  return (
    <>
      <select
        aria-label={t("app.namespace")}
        value={now}
        onFocus={asked.again}
        onChange={(event) => (event.target.value === OTHER ? setAsking(true) : choose(event.target.value))}
      >
        {withHere(asked.data?.items ?? [], now, null).map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
        <option value={OTHER}>{t("app.namespaceOther")}</option>
      </select>
      <Dialog open={asking} title={t("app.namespaceAsk")} onClose={() => setAsking(false)}>
        <Ask
          choose={(name) => {
            setAsking(false);
            choose(name);
          }}
        />
      </Dialog>
    </>
  );
}

function Ask({ choose }: { choose: (name: string) => void }) {
  const t = useT();
  const [name, setName] = useState("");
  const [tried, setTried] = useState(false);
  const sound = NAMESPACE.test(name);
  return (
    <Form submit={t("app.go")} onSubmit={() => (sound ? choose(name) : setTried(true))}>
      <Field label={t("app.namespace")} fault={tried && !sound ? t("app.namespaceBad") : undefined}>
        {(wiring) => (
          <input {...wiring} value={name} onChange={(event) => setName(event.target.value.trim())} />
        )}
      </Field>
    </Form>
  );
}
