import { Empty } from "../components/Empty";
import { Link } from "../components/Link";
import { Page } from "../components/Page";
import { OVERVIEW } from "../router";
import { useT } from "../words";

export function NotFound() {
  const t = useT();
  return (
    <Page title={t("app.notFound")}>
      <Empty title={t("app.notFoundMore")}>
        <Link to={OVERVIEW}>{t("app.overview")}</Link>
      </Empty>
    </Page>
  );
}
