import { counted, secondOf, sizeOf, usageWords } from "../model/figures-in-words.js";
import type { UsageSum } from "../model/facts-of-models.js";
import type { Row } from "../model/row-model.js";
import type { Cut } from "../model/timeline.js";
import type { ConversationProps } from "./conversation.js";
import { HeadCard, MessageCard } from "./message-card.js";
import { StepCard } from "./step-card.js";

/** One row: a message, a tool step, or what happened between messages. */
export function ConversationRow(props: ConversationProps & { readonly row: Row }) {
  const { row, moment } = props;
  switch (row.kind) {
    case "message":
      return (
        <>
          {row.round !== undefined && <RoundHeading round={row.round} usage={moment.usage.rounds.get(row.position)} />}
          <MessageCard {...props} position={row.position} />
        </>
      );
    case "step":
      return <StepCard {...props} position={row.position} results={row.results} />;
    case "head":
      return <HeadCard {...props} place={row.place} />;
    case "cut":
      return <CutLine cut={row.cut} isCurrent={row.isCurrent} />;
    case "lost head":
      return (
        <p class="note">
          The view began with {counted(row.count, "message")} that an earlier reduction kept or wrote, such as a
          summary. Their text is stored for the last reduction only.
        </p>
      );
    case "later":
      return <p class="note">Message {row.position} was written next. Later messages are not shown.</p>;
  }
}

function RoundHeading({ round, usage }: { round: number; usage: UsageSum | undefined }) {
  return (
    <h2 class="round">
      Round {round}
      {usage && <span class="usage">{usageWords(usage)}</span>}
    </h2>
  );
}

function CutLine({ cut, isCurrent }: { cut: Cut; isCurrent: boolean }) {
  const { number, at, before, after } = cut;
  return (
    <div class={isCurrent ? "cut cut-current" : "cut"}>
      <p class="cut-words">
        <strong>{isCurrent ? "The view begins here" : "Everything above had left the view"}</strong>
        <span>
          Reduction {number}, {secondOf(at)}: {sizeOf(before)} became {sizeOf(after)}
        </span>
      </p>
    </div>
  );
}
