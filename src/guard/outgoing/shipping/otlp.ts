// Ships the audit log to an OpenTelemetry collector as log records, by OTLP over HTTP. The body of a record is the line
// that other receivers get, and its attributes have what one searches by. The collector confirms a batch with a status of
// 2xx, unless it says in its answer that it rejected some of the records.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Decision } from '../../../core/decision/decide.ts';
import type { OtlpTarget, Schema } from '../../../core/log/shipping.ts';
import { LOGS, type LogRecord, logsRequest, type Severity } from '../../../core/otlp/logs.ts';
import { encode } from '../../../core/otlp/protobuf.ts';
import { rejectedItems } from '../../../core/otlp/rejected.ts';
import type { TargetRules } from '../addresses.ts';
import { ATTEMPT_MS, SendError, sendBody } from '../send.ts';
import { shippedLine } from './line.ts';
import { refusePage, requireTaken, type Shipped, type Target } from './target.ts';

const MOST_ENTRIES = 500;
/** An answer names the number of rejected records and has one message. */
const ANSWER_BYTES = 16 * 1024;

const RESOURCE = { attributes: { 'service.name': 'toolgate' }, version: '' };

const SEVERITIES: Record<Decision, Severity> = { allow: 'info', pending: 'info', deny: 'warn' };

const compressed = promisify(gzip);

export function otlpTarget(settings: OtlpTarget, rules: TargetRules): Target {
  const { url, compress, schema } = settings;
  return {
    most: MOST_ENTRIES,
    async send(batch) {
      const message = encode(
        LOGS,
        logsRequest(
          RESOURCE,
          batch.map(each => recordOf(each, schema)),
        ),
      );
      const encoding = compress ? { 'content-encoding': 'gzip' } : {};
      const { status, bytes } = await sendBody({
        url,
        method: 'POST',
        headers: { ...settings.headers, ...encoding },
        body: compress ? await compressed(message) : message,
        contentType: 'application/x-protobuf',
        timeoutMs: ATTEMPT_MS,
        maxResponseBytes: ANSWER_BYTES,
        rules,
      });
      requireTaken('collector', status);
      refusePage(bytes);
      const rejected = rejectedItems(bytes, 'rejectedLogRecords');
      if (rejected > 0) throw new SendError(`the collector rejected ${rejected} of ${batch.length} records`);
    },
  };
}

function recordOf(shipped: Shipped, schema: Schema): LogRecord {
  const { seq, entry } = shipped;
  return {
    at: Date.parse(entry.at),
    severity: SEVERITIES[entry.decision],
    body: shippedLine(shipped, schema),
    attributes: {
      // By this attribute, collectors recognise records that come twice.
      'log.record.uid': entry.id,
      'toolgate.seq': seq,
      'toolgate.decision': entry.decision,
      'toolgate.surface': entry.surface,
      'toolgate.server_name': entry.serverName,
      'gen_ai.tool.name': entry.toolName,
      'toolgate.policy_id': entry.policyId,
      'toolgate.policy_version': entry.policyVersion,
      ...(entry.ruleIndex === null ? {} : { 'toolgate.rule_index': entry.ruleIndex }),
    },
    traceId: entry.traceId ?? null,
    spanId: null,
  };
}
