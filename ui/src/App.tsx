import { useEffect } from "react";
import { useConnection, watchServer } from "./api/connection";
import { lookWhoIAm, useSession } from "./api/session";
import { Header } from "./app/Header";
import { Login } from "./app/Login";
import { Nav } from "./app/Nav";
import { NotFound } from "./app/NotFound";
import { Oops } from "./app/Oops";
import { Banner } from "./components/Banner";
import { Lazy } from "./components/Lazy";
import { Toasts } from "./components/Toast";
import { find } from "./pages";
import { usePlace } from "./router";
import { useT } from "./words";

export function App() {
  const t = useT();
  const { returns } = useConnection();
  const { state } = useSession();
  useEffect(() => {
    // Who cannot be reached is looked for until it is back; then this is asked again.
    lookWhoIAm().catch(() => undefined);
  }, [returns]);
  useEffect(watchServer, []);
  return (
    <>
      <a className="skip" href="#content">
        {t("app.skip")}
      </a>
      <Header />
      <Banner />
      <div className="frame">
        {state === "in" && <Nav />}
        <main id="content" tabIndex={-1}>
          {state === "out" && <Login />}
          {state === "unknown" && <p className="soft pad">{t("app.loading")}</p>}
          {state === "in" && <Shown />}
        </main>
      </div>
      <Toasts />
    </>
  );
}

function Shown() {
  const { path } = usePlace();
  const found = find(path);
  if (found === null) return <NotFound />;
  return (
    <Oops key={path}>
      <Lazy load={found.page.load} props={{ parts: found.parts }} />
    </Oops>
  );
}
