import { useState } from "react";
import { asProblem, at, post, remove, useMay, usePages } from "../../api";
import { Button, Card, Empty, ProblemNote, Table, toast, type Column } from "../../components";
import { useT, useWords } from "../../words";
import { Delete } from "./Delete";
import { NewWebhook } from "./NewWebhook";
import { ShownOnce } from "./ShownOnce";
import type { Webhook, WebhookTested } from "./types";
import { words } from "./words";

export function Webhooks() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("operate");
  const found = usePages<Webhook>(may.ok ? at("/webhooks") : null);
  const [made, setMade] = useState<string | null>(null);
  const test = async (webhook: Webhook) => {
    try {
      const told = await post<WebhookTested>(at("/webhooks/:webhook/test", { webhook: webhook.id }));
      if (told.delivered)
        toast(t("testGood", { status: told.status ?? "", seconds: told.tookSeconds.toFixed(2) }));
      else toast(t("testBad", { why: told.error ?? String(told.status) }), "bad");
    } catch (error) {
      toast(asProblem(error).message, "bad");
    }
  };
  const columns: readonly Column<Webhook>[] = [
    { key: "url", head: t("url"), grow: true, cell: (webhook) => <code>{webhook.url}</code> },
    {
      key: "on",
      head: t("on"),
      wideOnly: true,
      cell: (webhook) => (
        <span className="keep">{webhook.on.map((what) => t(`what.${what}`)).join(", ")}</span>
      ),
    },
    {
      key: "workflow",
      head: t("workflow"),
      wideOnly: true,
      cell: (webhook) => webhook.workflow ?? t("anyWorkflow"),
    },
    {
      key: "do",
      head: <span className="unseen">{shared("do.delete")}</span>,
      cell: (webhook) => (
        <div className="actions">
          <Button
            needs="operate"
            label={t("testLabel", { name: webhook.url })}
            onClick={() => void test(webhook)}
          >
            {t("test")}
          </Button>
          <Delete
            needs="operate"
            deed={shared("do.delete")}
            label={t("deleteLabel", { name: webhook.url })}
            title={t("deleteAsk", { name: webhook.url })}
            lead={t("deleteWebhookMore")}
            said={t("deleted", { name: webhook.url })}
            act={() => remove(at("/webhooks/:webhook", { webhook: webhook.id }))}
            onDone={found.again}
          />
        </div>
      ),
    },
  ];
  return (
    <>
      <Card title={t("newWebhook")}>
        <p className="soft">{t("webhooksLead")}</p>
        {!may.ok && <p className="note warn">{may.reason}</p>}
        <NewWebhook
          onMade={(secret) => {
            setMade(secret);
            found.again();
          }}
        />
      </Card>
      {may.ok && (
        <Card title={t("tab.webhooks")}>
          <ProblemNote problem={found.problem} again={found.again} />
          <Table
            label={t("webhooksTable")}
            columns={columns}
            rows={found.items}
            rowKey={(webhook) => webhook.id}
            more={found.more}
            loading={found.loading}
            empty={
              <Empty title={t("noWebhooks")} command="windlass webhook add URL --on failed --on stuck">
                {t("noWebhooksMore")}
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
