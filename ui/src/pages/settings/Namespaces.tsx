import { at, useAsk, useSession } from "../../api";
import { COUNTED_MAX, DEFAULT, withHere, type NamespaceItem, type Namespaces } from "../../app/namespaces";
import { Button, Card, Copy, ProblemNote, Table, type Column } from "../../components";
import { namespaceOf, navigate, usePlace } from "../../router";
import { useWords } from "../../words";
import { DEEDS, mayDo } from "./token";
import { words } from "./words";

const SHOWN = ["read", "submit", "operator", "admin"] as const;

export function Namespaces() {
  const t = useWords(words);
  const { me } = useSession();
  const current = namespaceOf(usePlace().query);
  const own = me?.namespace && me.namespace !== "*" ? me.namespace : null;
  const here = current ?? own ?? DEFAULT;
  const asked = useAsk<Namespaces>(at("/namespaces"), { live: true });
  const open = (name: string) => {
    const named = name === DEFAULT ? "" : encodeURIComponent(name);
    navigate(`/ui/settings?tab=namespaces&namespace=${named}`);
  };
  const count = (found: number) => (found >= COUNTED_MAX ? t("many") : found);
  const columns: readonly Column<NamespaceItem>[] = [
    {
      key: "name",
      head: t("namespace"),
      grow: true,
      cell: ({ name }) => (
        <>
          <code>{name}</code> {name === here && <span className="soft small">{t("here")}</span>}
        </>
      ),
    },
    { key: "workflows", head: t("workflows"), end: true, cell: (item) => count(item.workflows) },
    { key: "open", head: t("openRuns"), end: true, cell: (item) => count(item.openRuns) },
    {
      key: "go",
      head: <span className="unseen">{t("openNamespace")}</span>,
      end: true,
      cell: ({ name }) =>
        name !== here && (
          <Button label={t("openNamespaceLabel", { name })} onClick={() => open(name)}>
            {t("openNamespace")}
          </Button>
        ),
    },
  ];
  return (
    <>
      <Card title={t("namespacesKnown")}>
        <p className="soft">{t("namespacesLead")}</p>
        <ProblemNote problem={asked.problem} again={asked.again} />
        {asked.data && (
          <Table
            label={t("namespacesTable")}
            columns={columns}
            rows={withHere(asked.data.items, here, own)}
            rowKey={({ name }) => name}
          />
        )}
        <p className="soft">{t("another")}</p>
        <Copy shown text="windlass run report.yaml --namespace reports" />
      </Card>
      <Card title={t("mayTitle")}>
        <Table
          label={t("mayTable")}
          rows={SHOWN}
          rowKey={(role) => role}
          columns={[
            {
              key: "role",
              head: t("role"),
              cell: (role) => (
                <span className="keep">
                  <strong>{role}</strong>{" "}
                  {me?.login && me.role === role && <span className="soft">({t("yours")})</span>}
                </span>
              ),
            },
            ...DEEDS.map((deed) => ({
              key: deed,
              head: t(`deed.${deed}`),
              cell: (role: (typeof SHOWN)[number]) => t(mayDo(role, deed) ? "yes" : "no"),
            })),
          ]}
        />
      </Card>
    </>
  );
}
