import { useEffect, useRef } from "react";
import { useConnection } from "../api/connection";
import { useT } from "../words";
import { toast } from "./Toast";

/** Says that the server is away for as long as it is. */
export function Banner() {
  const t = useT();
  const { online, returns } = useConnection();
  const before = useRef(returns);
  useEffect(() => {
    if (returns !== before.current) toast(t("app.back"));
    before.current = returns;
  }, [returns, t]);
  return (
    <div role="status" aria-live="assertive">
      {!online && <p className="banner">{t("app.lost")}</p>}
    </div>
  );
}
