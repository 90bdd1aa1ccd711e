import { useEffect, useRef } from "react";
import { Link } from "../components/Link";
import { reveal } from "../components/reveal";
import { NAV, find } from "../pages";
import { usePlace } from "../router";
import { useT } from "../words";

export function Nav() {
  const t = useT();
  const { path } = usePlace();
  const section = find(path)?.page.section;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => reveal(list.current, "[aria-current=page]"), [section]);
  return (
    <nav className="nav" aria-label={t("app.pages")}>
      <ul ref={list}>
        {NAV.map((page) => (
          <li key={page.section}>
            <Link to={page.path} current={page.section === section}>
              {t(`nav.${page.section}`)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
