import { useState } from "react";
import { at, remove, useMay, usePages } from "../../api";
import { Card, Empty, Field, ProblemNote, Status, Table, Time, type Column } from "../../components";
import { choice, useFilters } from "../../router";
import { useT, useWords } from "../../words";
import { Delete } from "./Delete";
import { NewToken } from "./NewToken";
import { ShownOnce } from "./ShownOnce";
import type { Token } from "./types";
import { words } from "./words";

const STATES = ["valid", "expired", "revoked"] as const;
const FILTERS = { state: choice(["all", ...STATES], "all") };
const FIRST = "windlass token create --role admin --name me --data .windlass";

export function Tokens() {
  const t = useWords(words);
  const shared = useT();
  const [filter, setFilter] = useFilters(FILTERS);
  const may = useMay("administer");
  const found = usePages<Token>(may.ok ? at("/tokens") : null);
  const [made, setMade] = useState<string | null>(null);
  const nameOf = (token: Token) => token.name || token.id;
  const columns: readonly Column<Token>[] = [
    {
      key: "name",
      head: t("name"),
      grow: true,
      cell: (token) => (
        <>
          <strong>{nameOf(token)}</strong> <code className="soft small">{token.id}</code>
        </>
      ),
    },
    { key: "role", head: t("role"), cell: (token) => token.role },
    { key: "namespace", head: t("namespace"), wideOnly: true, cell: (token) => token.namespace },
    { key: "state", head: t("state"), cell: (token) => <Status value={token.state} /> },
    {
      key: "used",
      head: t("used"),
      wideOnly: true,
      cell: (token) => (
        <span className="keep">{token.usedAt ? <Time at={token.usedAt} style="ago" /> : t("never")}</span>
      ),
    },
    {
      key: "expires",
      head: t("expiresAt"),
      wideOnly: true,
      cell: (token) => (
        <span className="keep">{token.expiresAt ? <Time at={token.expiresAt} /> : t("never")}</span>
      ),
    },
    {
      key: "created",
      head: t("created"),
      wideOnly: true,
      cell: (token) => (
        <span className="keep">
          <Time at={token.createdAt} style="ago" />{" "}
          <span className="soft">{t("by", { who: token.createdBy })}</span>
        </span>
      ),
    },
    {
      key: "revoke",
      head: <span className="unseen">{t("revoke")}</span>,
      cell: (token) =>
        token.state === "valid" && (
          <Delete
            needs="administer"
            deed={t("revoke")}
            label={t("revokeLabel", { name: nameOf(token) })}
            title={t("revokeAsk", { name: nameOf(token) })}
            lead={t("revokeMore")}
            said={t("revoked", { name: nameOf(token) })}
            act={() => remove(at("/tokens/:token", { token: token.id }))}
            onDone={found.again}
          />
        ),
    },
  ];
  return (
    <>
      <Card title={t("newToken")}>
        <p className="soft">{t("tokensLead")}</p>
        {!may.ok && <p className="note warn">{may.reason}</p>}
        <NewToken
          onMade={(token) => {
            setMade(token);
            found.again();
          }}
        />
      </Card>
      {may.ok && (
        <Card
          title={t("tab.tokens")}
          actions={
            <Field label={t("tokenState")} inline>
              {(wiring) => (
                <select
                  {...wiring}
                  value={filter.state}
                  onChange={(event) => setFilter({ state: FILTERS.state.read(event.target.value) })}
                >
                  <option value="all">{t("allTokens")}</option>
                  {STATES.map((state) => (
                    <option key={state} value={state}>
                      {shared(`status.${state}`)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          }
        >
          <ProblemNote problem={found.problem} again={found.again} />
          <Table
            label={t("tokensTable")}
            columns={columns}
            rows={found.items.filter((token) => filter.state === "all" || token.state === filter.state)}
            rowKey={(token) => token.id}
            more={found.more}
            loading={found.loading}
            empty={
              filter.state === "all" ? (
                <Empty title={t("noTokens")} command={FIRST}>
                  {t("noTokensMore")}
                </Empty>
              ) : (
                <Empty title={t("noTokensMatch")}>{t("noTokensMatchMore")}</Empty>
              )
            }
          />
        </Card>
      )}
      <ShownOnce title={t("made")} lead={t("madeMore")} text={made} onClose={() => setMade(null)} />
    </>
  );
}
