output "table_name" {
  value = aws_dynamodb_table.locks.name
}

output "table_arn" {
  value = aws_dynamodb_table.locks.arn
}

output "policy_arn" {
  description = "To attach to a role that is there already"
  value       = aws_iam_policy.daemon.arn
}

output "role_arn" {
  value = aws_iam_role.daemon.arn
}

output "instance_profile" {
  value = one(aws_iam_instance_profile.daemon[*].name)
}
