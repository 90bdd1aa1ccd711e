import { Component, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Page } from "../components/Page";
import { t } from "../words";

/** A fault in one page does not take the others along. */
export class Oops extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Page title={t("app.broken")} lead={t("app.brokenMore")}>
        <pre tabIndex={0}>{String(this.state.error)}</pre>
        <Button onClick={() => location.reload()}>{t("app.reload")}</Button>
      </Page>
    );
  }
}
