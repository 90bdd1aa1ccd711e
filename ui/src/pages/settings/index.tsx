import type { ComponentType } from "react";
import { useSession } from "../../api";
import { Copy, Page, Tabs } from "../../components";
import { choice, useFilters } from "../../router";
import { useWords } from "../../words";
import "../fleet.css";
import { Audit } from "./Audit";
import { Hooks } from "./Hooks";
import { Me } from "./Me";
import { Namespaces } from "./Namespaces";
import "./page.css";
import { Secrets } from "./Secrets";
import { Tokens } from "./Tokens";
import { Webhooks } from "./Webhooks";
import { words } from "./words";

const TABS = ["tokens", "secrets", "namespaces", "webhooks", "hooks", "audit"] as const;
const FILTERS = { tab: choice(TABS, "tokens") };
const SHOWN: Readonly<Record<(typeof TABS)[number], ComponentType>> = {
  tokens: Tokens,
  secrets: Secrets,
  namespaces: Namespaces,
  webhooks: Webhooks,
  hooks: Hooks,
  audit: Audit,
};
const WITH_LOGIN = "windlass up --login";
const FIRST_TOKEN = "windlass token create --role admin --name me --data .windlass";

export default function SettingsPage() {
  const t = useWords(words);
  const { me } = useSession();
  const [{ tab }, setFilter] = useFilters(FILTERS);
  const Shown = SHOWN[tab];
  return (
    <Page title={t("title")} lead={t("lead")}>
      {me && !me.login && (
        <div className="note">
          <p>{t("open")}</p>
          <p className="soft">{t("openMore")}</p>
          <Copy shown text={WITH_LOGIN} />
          <Copy shown text={FIRST_TOKEN} />
        </div>
      )}
      {me?.login && me.role && <Me me={me} />}
      <div>
        <Tabs
          label={t("sections")}
          tabs={TABS.map((key) => ({ key, label: t(`tab.${key}`) }))}
          chosen={tab}
          onChoose={(key) => setFilter({ tab: key })}
        >
          <div className="page">
            <Shown key={tab} />
          </div>
        </Tabs>
      </div>
    </Page>
  );
}
