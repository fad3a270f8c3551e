{{/* Names and labels, and the checks of values that a schema cannot express. */}}

{{- define "toolgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "toolgate.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "toolgate.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "toolgate.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "toolgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "toolgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The pod of `helm test`. The Service must not select it. */}}
{{- define "toolgate.testLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
{{- end }}

{{- define "toolgate.labels" -}}
{{ include "toolgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "toolgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "toolgate.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "toolgate.image" -}}
{{- $repository := required "image.repository is missing: build the image from the Dockerfile, push it to your registry, and name it here." .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "true" or nothing, because a template can only give text. */}}
{{- define "toolgate.onPostgres" -}}
{{- if or .Values.postgres.url .Values.postgres.existingSecret }}true{{ end }}
{{- end }}

{{- define "toolgate.hasReplicas" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) }}true{{ end }}
{{- end }}

{{- define "toolgate.hasServerFile" -}}
{{- if or .Values.serverFile.content .Values.serverFile.existingSecret }}true{{ end }}
{{- end }}

{{- define "toolgate.hasGivenSecrets" -}}
{{- if or .Values.secrets.existingSecret (and .Values.secrets.masterKey .Values.secrets.adminToken) }}true{{ end }}
{{- end }}

{{- define "toolgate.publicUrl" -}}
{{- if .Values.publicUrl }}
{{- .Values.publicUrl }}
{{- else if .Values.ingress.enabled }}
{{- printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host }}
{{- end }}
{{- end }}

{{- define "toolgate.check" -}}
{{- $v := .Values }}
{{- $onPostgres := include "toolgate.onPostgres" . }}
{{- if and (include "toolgate.hasReplicas" .) (not $onPostgres) }}
{{- fail "More than one replica needs PostgreSQL: set postgres.existingSecret or postgres.url. The embedded store has one process." }}
{{- end }}
{{- if and $onPostgres (not (include "toolgate.hasGivenSecrets" .)) }}
{{- fail "With PostgreSQL, replicas share the master key and the admin token, and pods keep nothing: set secrets.existingSecret, or both secrets.masterKey and secrets.adminToken." }}
{{- end }}
{{- if and $v.postgres.url $v.postgres.existingSecret }}
{{- fail "postgres.url and postgres.existingSecret are both set: choose one." }}
{{- end }}
{{- if and $v.secrets.existingSecret (or $v.secrets.masterKey $v.secrets.adminToken) }}
{{- fail "secrets.existingSecret is set together with secrets.masterKey or secrets.adminToken: choose one." }}
{{- end }}
{{- if ne (empty $v.secrets.masterKey) (empty $v.secrets.adminToken) }}
{{- fail "secrets.masterKey and secrets.adminToken go together: set both, or neither." }}
{{- end }}
{{- if and $v.serverFile.content $v.serverFile.existingSecret }}
{{- fail "serverFile.content and serverFile.existingSecret are both set: choose one." }}
{{- end }}
{{- if and $v.grpc.enabled (or (eq (int $v.grpc.port) 8787) (eq (int $v.grpc.port) (int $v.service.port))) }}
{{- fail "grpc.port is the port of HTTP, too: choose another one for gRPC." }}
{{- end }}
{{- if and $v.ingress.enabled (not $v.ingress.host) }}
{{- fail "ingress.enabled is true but ingress.host is empty: set it to the name under which people reach Toolgate." }}
{{- end }}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas is larger than autoscaling.maxReplicas." }}
{{- end }}
{{- end }}
