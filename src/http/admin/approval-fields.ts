// What the admin API shows of approvals: in lists, of one of them with what helps to answer it, and of the queue.
// approvals.ts has the routes.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approvals/approval.ts';
import { DECISIONS } from '../../core/decision/decide.ts';
import { ACTIONS } from '../../core/policy/policy.ts';
import { SURFACES } from '../../core/text/surface.ts';
import { OUTCOMES } from '../../store/log/outcomes.ts';
import { NOTIFICATION_STATUSES } from '../../store/notifications.ts';
import { TASK_COURSES } from '../../store/task-views.ts';
import { isoTime, uuid, votes } from '../serving/fields.ts';
import { forwarded } from './audit-fields.ts';
import { runMark } from './runs.ts';

const time = isoTime.nullable();

const proofKind = z
  .enum(['passkey'])
  .nullable()
  .meta({ description: 'What each approval has to be signed with.' });

export const approval = z.object({
  referenceId: uuid,
  toolCallId: uuid,
  policyId: uuid,
  keyId: uuid,
  sessionId: uuid.nullable(),
  personId: uuid
    .optional()
    .meta({ description: 'The operator for whom the session acts; absent if it acts for nobody.' }),
  personEmail: z.string().optional().meta({ description: 'Their e-mail.' }),
  runId: uuid
    .optional()
    .meta({ description: 'The run of the call; absent if its policy uses no marks and no known values.' }),
  surface: z.enum(SURFACES),
  serverName: z.string(),
  toolName: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  reason: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  resolvedAt: isoTime.nullable(),
  resolvedBy: z.string().nullable(),
  grantExpiresAt: isoTime.nullable(),
  spentAt: isoTime.nullable().meta({ description: 'When the one call that it frees was allowed.' }),
  withdrawnAt: isoTime.nullable(),
  usableUntil: isoTime.nullable().meta({
    description:
      'For an approval that frees a single call: when it becomes unusable, if it is not spent or withdrawn before.',
  }),
  note: z.string().nullable().meta({ description: 'What the person who answered wrote to the agent.' }),
  approverGroup: z.string().nullable().meta({ description: 'The group whose members have to answer.' }),
  proof: proofKind,
  votes,
});

export const context = z
  .object({
    toolDescription: z.string().nullable(),
    drifted: z
      .boolean()
      .meta({ description: 'Whether the tool’s definition differs from the accepted one.' }),
    connectedTool: z.object({ id: uuid, toolServerId: uuid.nullable() }).nullable().meta({
      description: 'The Connected Tool that has it; null if the service does not forward the call itself.',
    }),
    rule: z
      .object({
        policyId: uuid,
        policyName: z.string(),
        policyVersion: z.int(),
        index: z.int(),
        name: z.string().nullable(),
        tool: z.string(),
        action: z.enum(ACTIONS),
        when: z.array(z.string()),
        reason: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'The rule that asks, in the version of the policy that was in force.' }),
    earlier: z
      .object({
        asked: z.int(),
        approved: z.int(),
        denied: z.int(),
        timedOut: z.int(),
        lastBy: z.string().nullable(),
        lastAt: time,
      })
      .meta({ description: 'Questions of the same key about the same tool, in the 30 days before.' }),
    recentCalls: z
      .array(
        z.object({
          at: isoTime,
          serverName: z.string(),
          toolName: z.string(),
          decision: z.enum(DECISIONS),
        }),
      )
      .meta({ description: 'The last ten calls of the session, or of the key.' }),
    keyName: z.string(),
    sessionLabel: z.string().nullable(),
    marks: z.array(runMark).meta({
      description: 'What the run had read when it asked. Empty if its policy uses no marks.',
    }),
  })
  .meta({ description: 'What is known about the question from what is stored anyway.' });

const lacking = {
  group: z.string(),
  needed: z.int().meta({ description: 'How many have to approve.' }),
  able: z.int().meta({ description: 'How many operators of the group could.' }),
};

export const waiting = z.object({
  full: z
    .array(
      z.object({
        keyId: uuid,
        keyName: z.string(),
        sessionId: uuid.nullable().meta({ description: 'Null if the limit of the key itself is reached.' }),
        open: z.int(),
        atMost: z.int(),
      }),
    )
    .meta({ description: 'Whose limit on open approvals is reached: further calls that ask are denied.' }),
  unanswerable: z
    .array(z.object({ ...lacking, open: z.int(), referenceId: uuid }))
    .meta({ description: 'Groups that have to answer and have too few people; with the oldest question.' }),
});

const shownOfCall = {
  details: z
    .object({
      question: z.string().nullable(),
      folder: z.string().optional().meta({
        description: 'The folder in which a coding agent works, as its harness says it, not the model.',
      }),
      fields: z.array(
        z.object({
          path: z.string(),
          value: z.string(),
          characters: z.int().nullable().optional().meta({
            description: 'Where the value is cut: how many characters it has; null if they were not counted.',
          }),
          known: z.boolean().optional().meta({
            description:
              'Whether somebody who is trusted had named the value in this run when the question was asked. Absent if the policy uses no known values, and for values that `known()` does not take.',
          }),
        }),
      ),
      omitted: z.int().optional().meta({ description: 'Fields that were left out for want of room.' }),
      omittedCharacters: z.int().optional().meta({
        description: 'Characters that were left out: of these fields, and of values that are cut.',
      }),
      complete: z.boolean().meta({
        description:
          'Whether nothing was left out. Lists give values of at most 500 characters and 8 KiB in all; the approval itself has all that is held, which is at most 256 KiB.',
      }),
      digest: z.string().meta({
        description: 'Stands for the whole of them, also where they are not given whole: see `seen`.',
      }),
    })
    .optional()
    .meta({
      description: 'What the rule shows of the arguments, while it is held in memory, to whoever may answer.',
    }),
  detailsInserted: z
    .array(z.object({ from: z.int(), to: z.int() }))
    .optional()
    .meta({ description: 'Which parts of the question are values of the call, in UTF-16 code units.' }),
  detailsGone: z.literal(true).optional().meta({
    description: 'The rule shows something, but it is no longer held: after an answer, or after a restart.',
  }),
  detailsHidden: z
    .literal(true)
    .optional()
    .meta({ description: 'You may not answer, so you do not see it.' }),
};

const task = z
  .object({
    state: z.enum(TASK_COURSES).meta({
      description:
        '`held`: the call waits in memory and is made once it is approved. `gone`: it is no longer held, so the agent has to call again. `runs`: it was forwarded. `ended`: see `outcome`.',
    }),
    toolCallId: uuid.nullable().meta({ description: 'The call that was made for the task.' }),
    outcome: z
      .enum(OUTCOMES)
      .nullable()
      .meta({ description: 'Null before the end, and if the call was not allowed after all.' }),
  })
  .optional()
  .meta({
    description: 'The task that waits for the answer; absent if there is none, or it is no longer known.',
  });

export const listedApproval = approval.extend({
  ...shownOfCall,
  task,
  detailsElsewhere: z.literal(true).optional().meta({
    description:
      'The replica that made this list does not hold them. Read the approval itself, which asks the others.',
  }),
});

export const wholeApproval = approval.extend({
  ...shownOfCall,
  task,
  lacking: z.object(lacking).optional().meta({
    description:
      'Too few operators of the group may approve it; absent if there are enough, or it is answered.',
  }),
  context,
  notifications: z
    .array(
      z.object({
        channel: z.string(),
        state: z.enum(NOTIFICATION_STATUSES),
        time: time.meta({ description: 'When it was tried, or will be.' }),
        lastError: z.string().nullable(),
      }),
    )
    .meta({ description: 'Who was told about the question: oldest first.' }),
  freed: z
    .object({ toolCallId: uuid, forwarded })
    .nullable()
    .meta({ description: 'The call that was allowed by it, if it was spent.' }),
});
