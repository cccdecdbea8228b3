{{- define "kserving.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "kserving.selector" -}}
app.kubernetes.io/name: kserving
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kserving.labels" -}}
{{ include "kserving.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kserving.metadata" -}}
name: {{ include "kserving.name" . }}
labels:
  {{- include "kserving.labels" . | nindent 2 }}
{{- end }}

{{- define "kserving.config" -}}
{{- if kindIs "string" .Values.config }}{{ .Values.config }}{{ else if .Values.config }}{{ toYaml .Values.config }}{{ end }}
{{- end }}
