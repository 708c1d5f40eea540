import type { ComponentChildren } from "preact";
import type { SessionState } from "../model/data.js";
import { counted, usageWords, whole } from "../model/figures-in-words.js";
import { hashOf } from "./address.js";
import { addressOf } from "./api-client.js";
import { NumberField } from "./number-field.js";
import { Second } from "./second.js";
import type { ShownMoment } from "./shown-moment.js";
import { TestCaseDialog } from "./test-case-dialog.js";

interface ViewMeterProps {
  readonly moment: ShownMoment;
  readonly budget: number | undefined;
  readonly onBudget: (budget: number) => void;
}

interface SessionHeadingProps extends ViewMeterProps {
  /** More that can be done with it. */
  readonly children?: ComponentChildren;
  /** The search in it. */
  readonly search: ComponentChildren;
}

/** The session's name and figures, and what can be taken from it. */
export function SessionHeading({ moment, budget, onBudget, children, search }: SessionHeadingProps) {
  const { session } = moment;
  const { sessionId, title, owner, next, base, rounds } = session;
  return (
    <div class="heading">
      <div class="heading-names">
        <h1 dir="auto">{title ?? sessionId}</h1>
        <p class="quiet">
          {title !== undefined && <bdi>{sessionId} · </bdi>}
          {owner !== undefined && <bdi>{owner} · </bdi>}
          {counted(next - base, "message")} in {counted(rounds, "round")}
          <Times {...session} />
        </p>
      </div>
      <div class="heading-actions">
        {children}
        <a class="button" href={addressOf("export", { id: sessionId })} download>
          Export
        </a>
        <TestCaseDialog moment={moment} />
        <a class="button" href={hashOf({ kind: "report", id: sessionId })}>
          Report
        </a>
      </div>
      {base > 0 && (
        <p class="quiet">The oldest {counted(base, "message")} were discarded by the session’s retention.</p>
      )}
      {moment.usage.total && <p class="quiet usage-total">{usageWords(moment.usage.total)}</p>}
      <ViewMeter moment={moment} budget={budget} onBudget={onBudget} />
      {search}
    </div>
  );
}

function Times({ updatedAt, expiresAt }: Pick<SessionState, "updatedAt" | "expiresAt">) {
  return (
    <>
      {updatedAt !== undefined && (
        <>
          {" · written "}
          <Second at={updatedAt} /> (UTC)
        </>
      )}
      {expiresAt !== undefined && (
        <>
          {" · expires "}
          <Second at={expiresAt} />
        </>
      )}
    </>
  );
}

/** How much of the budget the view takes. */
function ViewMeter({ moment: { view, end, session }, budget, onBudget }: ViewMeterProps) {
  const isNow = end >= session.next;
  const share = budget === undefined ? undefined : view.tokens / budget;
  const size = `${counted(view.messages, "message")}, ${counted(view.tokens, "token")}`;
  return (
    <div class="view-meter">
      <p class="view-size">
        <strong>{isNow ? "The model sees" : `At message ${end} it saw`}</strong> {size}
        {view.uncounted > 0 && ` (without those of ${lostWords(view.uncounted)})`}
      </p>
      {budget !== undefined && share !== undefined && (
        <meter
          aria-label={`Tokens of the view: ${whole(100 * share)} % of the budget`}
          class={share > 1 ? "over" : undefined}
          min={0}
          max={Math.max(budget, view.tokens)}
          low={budget}
          high={budget}
          optimum={0}
          value={view.tokens}
        />
      )}
      <div class="budget-line">
        <NumberField class="budget" words="Budget in tokens" value={budget} onValue={onBudget} />
        {share !== undefined && <span class={share > 1 ? "share share-over" : "share"}>{whole(100 * share)} %</span>}
      </div>
    </div>
  );
}

function lostWords(count: number): string {
  return `${counted(count, "message")} no longer stored, such as a summary`;
}
