{{/* The pod, which is the same in a Deployment (PostgreSQL) and in a StatefulSet (embedded store). */}}

{{- define "toolgate.env" -}}
- name: TOOLGATE_HOST
  value: 0.0.0.0
- name: TOOLGATE_PORT
  value: "8787"
# A folder inside the volume, which Toolgate makes for itself alone: other users could enter the volume's own.
- name: TOOLGATE_DATA_DIR
  value: /data/toolgate
- name: TOOLGATE_STOP_GRACE
  value: {{ printf "%ds" (int .Values.stopGraceSeconds) | quote }}
{{- with include "toolgate.publicUrl" . }}
- name: TOOLGATE_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: TOOLGATE_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{- if .Values.grpc.enabled }}
- name: TOOLGATE_GRPC_PORT
  value: {{ .Values.grpc.port | quote }}
{{- end }}
{{- if include "toolgate.hasServerFile" . }}
- name: TOOLGATE_CONFIG
  value: /etc/toolgate/toolgate.yaml
{{- end }}
{{- if include "toolgate.onPostgres" . }}
- name: TOOLGATE_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ default (include "toolgate.fullname" .) .Values.postgres.existingSecret }}
      key: {{ ternary .Values.postgres.key "database-url" (ne .Values.postgres.existingSecret "") }}
{{- end }}
{{- if include "toolgate.hasGivenSecrets" . }}
{{- $own := empty .Values.secrets.existingSecret }}
{{- $secret := default (include "toolgate.fullname" .) .Values.secrets.existingSecret }}
- name: TOOLGATE_MASTER_KEY
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ ternary "master-key" .Values.secrets.masterKeyKey $own }}
- name: TOOLGATE_ADMIN_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ ternary "admin-token" .Values.secrets.adminTokenKey $own }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "toolgate.podTemplate" -}}
metadata:
  labels:
    {{- include "toolgate.selectorLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Pods are replaced when a secret of the chart changes: settings are read at the start only.
    checksum/secrets: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "toolgate.serviceAccountName" . }}
  automountServiceAccountToken: false
  # A Service named toolgate would otherwise put TOOLGATE_PORT=tcp://… into the environment.
  enableServiceLinks: false
  # The last 15 seconds are for what follows the calls: deliveries under way, the sealed log, telemetry.
  terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.stopGraceSeconds 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 8787
    runAsGroup: 8787
    fsGroup: 8787
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "toolgate.selectorLabels" . | nindent 10 }}
    {{- end }}
  containers:
    - name: toolgate
      image: {{ include "toolgate.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      env: {{- include "toolgate.env" . | nindent 8 }}
      {{- with .Values.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - { name: http, containerPort: 8787 }
        {{- if .Values.grpc.enabled }}
        - { name: grpc, containerPort: {{ .Values.grpc.port }} }
        {{- end }}
      # It answers once it has migrated the store, and a migration may wait ten minutes for a table.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 330
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      lifecycle:
        preStop:
          sleep: { seconds: {{ .Values.drainSeconds }} }
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if include "toolgate.hasServerFile" . }}
        - { name: server-file, mountPath: /etc/toolgate, readOnly: true }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- if include "toolgate.onPostgres" . }}
    # Only a copy of the signed checkpoints, which the database has too.
    - name: data
      emptyDir: { sizeLimit: 1Gi }
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim }} }
    {{- end }}
    {{- if include "toolgate.hasServerFile" . }}
    - name: server-file
      secret:
        secretName: {{ default (printf "%s-server-file" (include "toolgate.fullname" .)) .Values.serverFile.existingSecret }}
        # For the pod's group: Toolgate warns about a file with secrets that everybody can read.
        defaultMode: 0440
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
