// What a call would do: the question of its rule and the arguments that the rule shows. An agent chose the values, so
// each stands apart from our own words. The service keeps them in memory only, so they can be gone.

import { DETAILS_GONE, type Details, questionParts } from '../../../../src/core/approvals/details.ts';
import { NOT_NAMED } from '../../../../src/core/approvals/read-marks.ts';
import { visible } from '../../../../src/core/text/visible.ts';
import { Named } from '../../components/text.tsx';
import { Value, WholeValue } from '../../components/value.tsx';
import { type Held, type Place, shownOf } from './sight.ts';

/** Nothing if the rule shows nothing. */
export function CallDetails({ of, place }: { of: Held; place: Place }) {
  const { status, detailsGone, detailsHidden } = of;
  if (detailsHidden === true)
    return <p class="soft">Only people who may answer see what this call would do.</p>;
  // Once it is answered, there is nothing left to deny.
  if (detailsGone === true && status !== 'pending')
    return <p class="soft">What this call would do was shown while it waited, and is not kept.</p>;
  if (detailsGone === true) return <p class="notice gone">{DETAILS_GONE}</p>;
  const details = shownOf(of, place);
  return details === null ? null : <ShownDetails of={details} place={place} />;
}

export function ShownDetails({ of: details, place }: { of: Details; place: Place }) {
  const { question, folder, fields, complete } = details;
  return (
    <div class="call-details">
      {question !== null && (
        <p class="call-question">
          <Question of={details} />
        </p>
      )}
      {folder !== undefined && (
        <p class="folder">
          <span class="soft">Working folder</span> <bdi class="value">{visible(folder)}</bdi>
        </p>
      )}
      {!complete && <LeftOut of={details} place={place} />}
      {fields.length > 0 && (
        <Fields fields={place === 'card' && !complete ? fields.slice(0, FIRST) : fields} place={place} />
      )}
    </div>
  );
}

/** How many arguments the list shows of a call that has to be read on its own page. */
const FIRST = 4;

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

function Fields({ fields, place }: { fields: Details['fields']; place: Place }) {
  const Shown = place === 'card' ? Value : WholeValue;
  return (
    <dl class="call-fields">
      {fields.map(({ path, value, known }) => (
        <div key={path}>
          <dt>
            <Named text={path} />
          </dt>
          <dd>
            <Shown path={path} text={value} />
            {known === false && <span class="unnamed">{NOT_NAMED}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** This notice stands before the values, so that long values cannot push it out of sight. */
function LeftOut({ of, place }: { of: Details; place: Place }) {
  return (
    <p class="notice left-out">
      {place === 'card' ? (
        <b>Not everything is shown here: the call has {sizeOf(of)}. Read all of it before you approve.</b>
      ) : (
        <b>
          This call is larger than 256 KiB, which is all that is held of a call. Of {sizeOf(of)}, the rest
          cannot be shown to anybody.
        </b>
      )}
    </p>
  );
}

/** How much there is in all, shown or not. */
function sizeOf({ fields, omitted = 0, omittedCharacters = 0 }: Details): string {
  const count = fields.length + omitted;
  const characters = fields.reduce((sum, { value }) => sum + value.length, omittedCharacters);
  const words = count === 1 ? '1 argument' : `${count.toLocaleString('en')} arguments`;
  return `${words} with about ${characters.toLocaleString('en')} characters`;
}
