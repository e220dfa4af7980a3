variable "table_name" {
  description = "The setting \"table\" of the namespace"
  type        = string
  default     = "locks"
}

variable "deletion_protection" {
  description = "Must be switched off before the table can be deleted"
  type        = bool
  default     = true
}

variable "point_in_time_recovery" {
  description = "Of no use to locks; for accounts whose rules ask for it"
  type        = bool
  default     = false
}

variable "principal" {
  description = "Who takes the role: instances (ec2.amazonaws.com), ECS tasks (ecs-tasks.amazonaws.com), or pods by EKS Pod Identity (pods.eks.amazonaws.com)"
  type        = string
  default     = "ec2.amazonaws.com"

  validation {
    condition     = contains(["ec2.amazonaws.com", "ecs-tasks.amazonaws.com", "pods.eks.amazonaws.com"], var.principal)
    error_message = "The principal is ec2.amazonaws.com, ecs-tasks.amazonaws.com or pods.eks.amazonaws.com."
  }
}

variable "tags" {
  description = "Of all that is made"
  type        = map(string)
  default     = {}
}
