import type { ComponentChildren } from "preact";
import type { SessionState } from "../model/data.js";
import { counted, missingWords, storedWords, usageWords, whole } from "../model/figures-in-words.js";
import type { Cut } from "../model/timeline.js";
import { hashOf } from "./address.js";
import { addressOf } from "./api-client.js";
import { NumberField } from "./number-field.js";
import { Second } from "./second.js";
import type { ShownMoment } from "./shown-moment.js";
import { TestCaseDialog } from "./test-case-dialog.js";

interface ViewMeterProps {
  readonly moment: ShownMoment;
  readonly budget: number | undefined;
  /** Whether the reader typed the budget. */
  readonly isOwnBudget: boolean;
  readonly onBudget: (budget: number) => void;
}

interface SessionHeadingProps extends ViewMeterProps {
  /** More that can be done with it. */
  readonly children?: ComponentChildren;
}

/** The session's name and figures, and what can be taken from it. */
export function SessionHeading({ moment, children, ...meter }: SessionHeadingProps) {
  const { session } = moment;
  const { sessionId, title, owner, base } = session;
  return (
    <div class="heading">
      <div class="heading-names">
        <h1 dir="auto">{title ?? sessionId}</h1>
        <p class="quiet">
          {title !== undefined && <bdi>{sessionId} · </bdi>}
          {owner !== undefined && <bdi>{owner} · </bdi>}
          {storedWords(session)}
          <Times {...session} />
          {moment.usage.total && ` · ${usageWords(moment.usage.total)}`}
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
      {base > 0 && <p class="quiet">{missingWords(session)}</p>}
      <ViewMeter moment={moment} {...meter} />
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
function ViewMeter({ moment: { view, end, session, cuts }, budget, isOwnBudget, onBudget }: ViewMeterProps) {
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
        <span class="quiet">{budgetWords(isOwnBudget, cuts.at(-1))}</span>
      </div>
    </div>
  );
}

/** The source of the budget. */
function budgetWords(isOwn: boolean, cut: Cut | undefined): string {
  if (isOwn) {
    return "typed here";
  }
  if (cut === undefined) {
    return "no reduction yet";
  }
  return cut.maxTokens === undefined
    ? "none: its reducer counts messages"
    : `the reducer’s, at reduction ${cut.number}`;
}

function lostWords(count: number): string {
  return `${counted(count, "message")} no longer stored, such as a summary`;
}
