import { useAct } from "../../api";
import { signOut } from "../../api/session";
import type { Whoami } from "../../api/session-store";
import { Button, Card, Facts, ProblemNote } from "../../components";
import { useT, useWords } from "../../words";
import { roleWords } from "./token";
import { words } from "./words";

/** Who is logged in, and what that is good for. */
export function Me({ me }: { readonly me: Whoami }) {
  const t = useWords(words);
  const shared = useT();
  const leaving = useAct();
  const role = roleWords(me.role);
  return (
    <Card
      title={t("you")}
      actions={
        <Button busy={leaving.busy} onClick={() => void leaving.act(signOut)}>
          {shared("app.signOut")}
        </Button>
      }
    >
      <ProblemNote problem={leaving.problem} />
      <Facts
        facts={[
          [t("token"), me.who ?? ""],
          [t("role"), role === null ? (me.role ?? "") : `${me.role ?? ""}: ${t(role)}`],
          [t("namespace"), me.namespace === "*" ? t("everyNamespace") : (me.namespace ?? "")],
        ]}
      />
    </Card>
  );
}
