{{- define "kserving.args" -}}
- --http-enable
- --metrics-port=9002
- --shutdown-delay={{ .Values.shutdown.delay }}
- --drain-timeout={{ .Values.shutdown.drain }}
{{- if .Values.config }}
- --config=/etc/kserving/config/kserving.yaml
{{- else if .Values.models.volume }}
- --model-repository={{ .Values.models.path }}
{{- else if not .Values.args }}
{{- fail "No models: set models.volume, config or args" }}
{{- end }}
{{- if .Values.auth.tokensSecret }}
- --auth-tokens=/etc/kserving/tokens/tokens
{{- end }}
{{- if .Values.auth.usersSecret }}
- --auth-users=/etc/kserving/users/users
{{- end }}
{{- if .Values.tls.secret }}
- --tls-cert=/etc/kserving/tls/tls.crt
- --tls-key=/etc/kserving/tls/tls.key
{{- end }}
{{- with .Values.args }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kserving.probe" -}}
httpGet: { path: {{ .path }}, port: http, scheme: {{ ternary "HTTPS" "HTTP" (ne .tls "") }} }
{{- end }}

{{- define "kserving.resources" -}}
{{- $resources := deepCopy .Values.resources }}
{{- if .Values.gpus }}
{{- $_ := set $resources "limits" (merge (dict "nvidia.com/gpu" .Values.gpus) (default dict $resources.limits)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{- define "kserving.volumeMounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .Values.config }}
- { name: config, mountPath: /etc/kserving/config, readOnly: true }
{{- end }}
{{- if .Values.hooks }}
- { name: hooks, mountPath: /etc/kserving/hooks, readOnly: true }
{{- end }}
{{- if .Values.models.volume }}
- { name: models, mountPath: {{ .Values.models.path | quote }}, readOnly: true }
{{- end }}
{{- if .Values.auth.tokensSecret }}
- { name: tokens, mountPath: /etc/kserving/tokens, readOnly: true }
{{- end }}
{{- if .Values.auth.usersSecret }}
- { name: users, mountPath: /etc/kserving/users, readOnly: true }
{{- end }}
{{- if .Values.tls.secret }}
- { name: tls, mountPath: /etc/kserving/tls, readOnly: true }
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kserving.volumes" -}}
- { name: tmp, emptyDir: {{ toJson .Values.tmp }} }
{{- if .Values.config }}
- { name: config, configMap: { name: {{ include "kserving.name" . }} } }
{{- end }}
{{- if .Values.hooks }}
- { name: hooks, configMap: { name: {{ include "kserving.name" . }}-hooks } }
{{- end }}
{{- with .Values.models.volume }}
- name: models
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.auth.tokensSecret }}
- { name: tokens, secret: { secretName: {{ . }} } }
{{- end }}
{{- with .Values.auth.usersSecret }}
- { name: users, secret: { secretName: {{ . }} } }
{{- end }}
{{- with .Values.tls.secret }}
- { name: tls, secret: { secretName: {{ . }} } }
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
