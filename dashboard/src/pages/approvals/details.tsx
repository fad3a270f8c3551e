// What a call would do: the question of its rule and the arguments that the rule shows. An agent chose the values, so
// each is isolated and shows its invisible characters. The service keeps them in memory only, so they can be gone.

import { DETAILS_GONE, type Details, questionParts } from '../../../../src/core/details.ts';
import { visible, visibleLines } from '../../../../src/core/visible.ts';
import { Named } from '../../components/text.tsx';
import type { WholeApproval } from '../../resources.ts';

type Held = Partial<Pick<WholeApproval, 'status' | 'detailsGone' | 'detailsHidden' | 'detailsInserted'>> & {
  details?: Details | null;
};

/** Nothing if the rule shows nothing. */
export function CallDetails({ of }: { of: Held }) {
  const { status, details, detailsGone, detailsHidden, detailsInserted: inserted } = of;
  if (detailsHidden === true)
    return <p class="soft">Only people who may answer see what this call would do.</p>;
  // Once it is answered, there is nothing left to deny.
  if (detailsGone === true && status !== 'pending')
    return <p class="soft">What this call would do was shown while it waited, and is not kept.</p>;
  if (detailsGone === true) return <p class="notice gone">{DETAILS_GONE}</p>;
  if (details === undefined || details === null) return null;
  return (
    <div class="call-details">
      {details.question !== null && (
        <p class="call-question">
          <Question of={inserted === undefined ? details : { ...details, inserted }} />
        </p>
      )}
      {details.fields.length > 0 && <Fields fields={details.fields} />}
      {details.omitted !== undefined && details.omitted > 0 && (
        <p class="soft small">{omittedWords(details.omitted)}</p>
      )}
    </div>
  );
}

/** What the call gave is marked, so that it cannot pass for words of the rule. */
function Question({ of }: { of: Details }) {
  return (
    <bdi class="named">
      {questionParts(of).map(({ text, given }) =>
        given ? (
          <mark class="given">
            <bdi>{visible(text)}</bdi>
          </mark>
        ) : (
          visible(text)
        ),
      )}
    </bdi>
  );
}

function Fields({ fields }: { fields: Details['fields'] }) {
  return (
    <dl class="call-fields">
      {fields.map(({ path, value }) => (
        <div key={path}>
          <dt>
            <Named text={path} />
          </dt>
          <dd>
            <bdi>{visibleLines(value)}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function omittedWords(omitted: number): string {
  return omitted === 1
    ? '1 more field is not shown, because there is too much to show.'
    : `${omitted} more fields are not shown, because there is too much to show.`;
}
