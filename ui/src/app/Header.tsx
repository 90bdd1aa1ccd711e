import { signOut, useSession } from "../api/session";
import { Button } from "../components/Button";
import { Link } from "../components/Link";
import { toast } from "../components/Toast";
import { setTheme, THEMES, useTheme, type Theme } from "../theme";
import { OVERVIEW } from "../router";
import { LANGUAGES, setLanguage, useLanguage, useT, type Language } from "../words";
import { NamespaceSwitch } from "./NamespaceSwitch";
import { Search } from "./Search";

export function Header() {
  const t = useT();
  const language = useLanguage();
  const theme = useTheme();
  const { state, me } = useSession();
  return (
    <header className={state === "in" ? "top" : "top login-only"}>
      <Link to={OVERVIEW} className="brand" label="Windlass">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <circle cx="16" cy="16" r="6.2" />
          <path d="M16 4.5v5.3M16 22.2v5.3M4.5 16h5.3M22.2 16h5.3" />
        </svg>
        <span className="brand-name">Windlass</span>
      </Link>
      {state === "in" && <NamespaceSwitch />}
      {state === "in" && <Search />}
      <div className="top-end">
        <select
          aria-label={t("app.language")}
          value={language}
          onChange={(event) => setLanguage(event.target.value as Language)}
        >
          {(Object.entries(LANGUAGES) as [Language, string][]).map(([key, name]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
        <select
          aria-label={t("app.theme")}
          value={theme}
          onChange={(event) => setTheme(event.target.value as Theme)}
        >
          {THEMES.map((key) => (
            <option key={key} value={key}>
              {t(`app.theme.${key}`)}
            </option>
          ))}
        </select>
        <a href="/docs">{t("app.docs")}</a>
        {me?.login && me.role && (
          <>
            <span className="who" title={t("app.signedInAs", { who: me.who ?? "", role: me.role })}>
              {me.role}
            </span>
            <Button
              kind="quiet"
              onClick={() => void signOut().catch(() => toast(t("app.notSignedOut"), "bad"))}
            >
              {t("app.signOut")}
            </Button>
          </>
        )}
      </div>
    </header>
  );
}
